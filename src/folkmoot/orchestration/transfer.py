"""One agent works for another: as an advisor before its session, by a router's choice, along a chain, or as a call that
keeps the answer."""

from __future__ import annotations

from msgspec.structs import replace

from folkmoot.domain.call_events import (
    AdvisorCompleted,
    AdvisorFailed,
    AdvisorStarted,
    HandoffAccepted,
    HandoffCompleted,
    HandoffKind,
    HandoffRejected,
    HandoffRequested,
    RouterSelected,
)
from folkmoot.domain.entry import PARTS, AgentRole
from folkmoot.domain.errand import Block
from folkmoot.domain.report import ROUTE, Outcome
from folkmoot.domain.spans import steps_below
from folkmoot.orchestration.clarify import footer
from folkmoot.orchestration.invocation import Invocation, Run, Start
from folkmoot.orchestration.stamp import claimed, stamp_of, unstamped


async def carry_on(run: Run, inv: Invocation, outcome: Outcome, start: Start) -> Outcome:
    """What comes after an agent's own exit: the agent it routed to, then the one it hands off to."""
    if outcome.exit == ROUTE:
        outcome = await follow_route(run, inv, outcome, start)
    if inv.agent.handoff and not outcome.failed:
        outcome = await hand_over(run, inv, outcome, start)
    return outcome


async def follow_route(run: Run, inv: Invocation, chosen: Outcome, start: Start) -> Outcome:
    """The chosen agent answers in place of the router, with its own advisors and handoffs."""
    selection = chosen.selection
    assert selection is not None, "a session left through the route without a selection"
    run.log.once(inv.place, RouterSelected(agent=selection.agent, message=selection.message))
    files = inv.agent.destinations
    target = next(run.graph.agents[file] for file in files if run.graph.agents[file].id == selection.agent)
    said = (Block("advisory", selection.message, inv.agent.id),) if selection.message else ()
    child = inv.child(run, target, "route")
    return await transfer(run, inv, "route", replace(child, blocks=(*inv.blocks, *said)), start)


async def hand_over(run: Run, inv: Invocation, upstream: Outcome, start: Start) -> Outcome:
    """The next agent of the chain gets the user's own request and what was answered so far."""
    assert inv.agent.handoff is not None
    target = run.graph.agents[inv.agent.handoff]
    response = Block("response", upstream.report.content, upstream.agent)
    child = inv.child(run, target, "handoff")
    return await transfer(run, inv, "chain", replace(child, blocks=(response,)), start)


async def transfer(
    run: Run,
    inv: Invocation,
    kind: HandoffKind,
    child: Invocation,
    start: Start,
    also: tuple[str, ...] = (),
) -> Outcome:
    """What passes over is kept and named in the journal before the receiver begins; `also` are further artifacts."""
    log, place, receiver = run.log, child.place, child.agent.id
    artifact = run.keep(child.prompt(run).encode())
    role: AgentRole = "EXECUTOR" if kind == "contract" else ""
    log.once(place, HandoffRequested(kind, inv.agent.id, receiver, child.title, (artifact, *also), role))
    log.once(place, HandoffAccepted(kind=kind, receiver=receiver))
    outcome = await start(child)
    if outcome.failed:
        log.once(place, HandoffRejected(kind=kind, receiver=receiver, error=outcome.error))
    else:
        log.once(place, HandoffCompleted(kind=kind, receiver=receiver, answered_by=outcome.agent))
    return outcome


def staged(run: Run, outcome: Outcome, inv: Invocation) -> str:
    """The error of a failed outcome, with the agent, its part and the stage of the chain, seen from `inv`."""
    below = steps_below(outcome.span, inv.span)
    steps = [step for step in below if step[0] in ("route", "handoff")]
    agent = steps[-1][1] if steps else inv.agent.id
    details = [_failed_part(below, outcome.agent, agent)] if run.behavior > 1 else []
    if steps:
        path = [inv.agent.id, *(name for _, name in steps)]
        details.append(f"stage {len(path)} of {' -> '.join(path)}")
    elif run.behavior > 1 and (inv.agent.handoff or inv.agent.destinations):
        target = run.graph.agents[inv.agent.handoff].id if inv.agent.handoff else ""
        details.append(f"stage 1 of {inv.agent.id}" + (f" -> {target}" if target else ""))
    if not any(details):
        return outcome.error
    failed = f"{steps[-1][0]} to {agent!r}" if steps else repr(agent)
    return f"{failed} failed ({', '.join(filter(None, details))}): {outcome.error}"


def _failed_part(below: list[tuple[str, str]], by: str, agent: str) -> str:
    """Which part of its work an agent failed in, if it works in parts or has another agent lead its team."""
    for name, _ in reversed(below):
        if name in ("route", "handoff"):
            break
        if name == "lead":
            return f"lead {by!r}" if by != agent else "lead"
        if name in PARTS:
            return name
    return ""


async def consult(run: Run, inv: Invocation, start: Start) -> Invocation:
    """The same invocation with one advisory block per advisor, in declared order."""
    if not inv.agent.advisors:
        return inv
    advisors = [inv.child(run, run.graph.agents[file], "advisor") for file in inv.agent.advisors]
    advisories = await run.log.together(_advice(run, advisor, start) for advisor in advisors)
    return replace(inv, blocks=(*inv.blocks, *advisories))


async def _advice(run: Run, advisor: Invocation, start: Start) -> Block:
    """A failing advisor fails nobody else: its block says what happened."""
    name = advisor.agent.id
    run.log.once(advisor.place, AdvisorStarted(advisor=name))
    outcome = await start(advisor)
    if outcome.failed:
        error = staged(run, outcome, advisor)
        run.log.once(advisor.place, AdvisorFailed(advisor=name, error=error))
        text = f"Advisor consultation failed for {name}: {error}"
        return Block("advisory", text, name, sources=run.readings.within(advisor.span))
    run.log.once(advisor.place, AdvisorCompleted(advisor=name, answered_by=outcome.agent))
    said = unstamped(outcome.report.content) + footer(run.chats, advisor.session)
    runtime = str(stamp_of(run.log, advisor.span))
    read = run.readings.within(advisor.span)
    return Block("advisory", said + claimed(outcome.report.claims), name, runtime, read)
