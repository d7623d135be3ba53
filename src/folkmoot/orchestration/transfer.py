"""One agent works for another: as an advisor before its session, by a router's choice, along a chain, or as a call that
keeps the answer.

`AgentCaller` is a session that calls, whichever tool it calls with: resolve, admit, spawn, result. The agent runs below
it, under the budgets and limits there; why it is refused is noted with the caller, and what came of it with the agent.
"""

from __future__ import annotations

import msgspec
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
    SubAgentCompleted,
    SubAgentExecuting,
    SubAgentFailed,
    SubAgentSpawned,
)
from folkmoot.domain.entry import PARTS, AgentRole
from folkmoot.domain.errand import Block
from folkmoot.domain.events import LlmRequest
from folkmoot.domain.message import ToolResult
from folkmoot.domain.report import ROUTE, Outcome
from folkmoot.domain.spans import conversation, steps_below
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.kit import InheritedLimits
from folkmoot.orchestration.questions import (
    count_turns,
    list_parent_exchanges,
    render_follow_up_hint,
    render_reminder,
)
from folkmoot.orchestration.stamp import (
    WorkSummary,
    escape_runtime_marks,
    render_claims,
    render_work_summary,
    summarize_work,
)
from folkmoot.session.schema import unfit_input
from folkmoot.session.state import Brief

_SHOWN = 2000
"""Characters of a schema that the caller reads."""


async def follow_route_and_handoff(run: Run, inv: Invocation, outcome: Outcome) -> Outcome:
    """What comes after an agent's own exit: the agent it routed to, then the one it hands off to."""
    if outcome.exit == ROUTE:
        outcome = await _follow_route(run, inv, outcome)
    if not inv.agent.handoff or outcome.failed:
        return outcome
    # The next agent of the chain gets the user's own request and what was answered so far.
    child = inv.child(run, run.graph.agents[inv.agent.handoff], "handoff")
    response = Block("response", outcome.report.content, outcome.agent)
    return await run_handoff(run, inv, "chain", replace(child, blocks=(response,)))


async def _follow_route(run: Run, inv: Invocation, chosen: Outcome) -> Outcome:
    """The chosen agent answers in place of the router, with its own advisors and handoffs."""
    selection = chosen.selection
    assert selection is not None, "a session left through the route without a selection"
    run.log.once(inv.place, RouterSelected(agent=selection.agent, message=selection.message))
    agents = (run.graph.agents[file] for file in inv.agent.destinations)
    child = inv.child(run, next(agent for agent in agents if agent.id == selection.agent), "route")
    said = (Block("advisory", selection.message, inv.agent.id),) if selection.message else ()
    return await run_handoff(run, inv, "route", child.with_blocks(*said))


async def run_handoff(
    run: Run,
    inv: Invocation,
    kind: HandoffKind,
    child: Invocation,
    also: tuple[str, ...] = (),
    brief: Brief | None = None,
) -> Outcome:
    """What passes over is kept and named in the journal before the receiver begins; `also` are further artifacts. With
    a `brief` the receiver is a part of the same agent."""
    log, place, receiver = run.log, child.place, child.agent.id
    artifact = run.keep(child.prompt(run).encode())
    role: AgentRole = "EXECUTOR" if kind == "contract" else ""
    log.once(place, HandoffRequested(kind, inv.agent.id, receiver, child.title, (artifact, *also), role))
    log.once(place, HandoffAccepted(kind=kind, receiver=receiver))
    outcome = await (run.converse(child, brief) if brief else run.start(child))
    if outcome.failed:
        log.once(place, HandoffRejected(kind=kind, receiver=receiver, error=outcome.error))
    else:
        log.once(place, HandoffCompleted(kind=kind, receiver=receiver, answered_by=outcome.agent))
    return outcome


def describe_failed_stage(run: Run, outcome: Outcome, inv: Invocation) -> str:
    """The error of a failed outcome, with the agent, its part and the stage of the chain, seen from `inv`."""
    below = steps_below(outcome.span, inv.span)
    steps = [step for step in below if step[0] in ("route", "handoff")]
    agent = steps[-1][1] if steps else inv.agent.id
    details = [_describe_failed_part(below, outcome.agent, agent)] if run.behavior > 1 else []
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


def _describe_failed_part(below: list[tuple[str, str]], by: str, agent: str) -> str:
    """Which part of its work an agent failed in, if it works in parts or has another agent lead its team."""
    for name, _ in reversed(below):
        if name in ("route", "handoff"):
            break
        if name == "lead":
            return f"lead {by!r}" if by != agent else "lead"
        if name in PARTS:
            return name
    return ""


async def consult_advisors(run: Run, inv: Invocation) -> Invocation:
    """The same invocation with one advisory block per advisor, in declared order."""
    if not inv.agent.advisors:
        return inv
    advisors = [inv.child(run, run.graph.agents[file], "advisor") for file in inv.agent.advisors]
    return inv.with_blocks(*await run.log.together(_ask_advisor(run, advisor) for advisor in advisors))


async def _ask_advisor(run: Run, advisor: Invocation) -> Block:
    """A failing advisor fails nobody else: its block says what happened."""
    name, place = advisor.agent.id, advisor.place
    run.log.once(place, AdvisorStarted(advisor=name))
    outcome = await run.start(advisor)
    if outcome.failed:
        error = describe_failed_stage(run, outcome, advisor)
        run.log.once(place, AdvisorFailed(advisor=name, error=error))
        said, runtime = f"Advisor consultation failed for {name}: {error}", ""
    else:
        run.log.once(place, AdvisorCompleted(advisor=name, answered_by=outcome.agent))
        said = (
            escape_runtime_marks(outcome.report.content)
            + render_follow_up_hint(run, advisor.session)
            + render_claims(outcome.report.claims)
        )
        runtime = str(summarize_work(run.log, advisor.span))
    return Block("advisory", said, name, runtime, run.readings.within(advisor.span))


class AgentCaller(msgspec.Struct, frozen=True):
    """A session that calls agents: `await AgentCaller(run, inv).result(child)`."""

    run: Run
    inv: Invocation

    async def result(self, child: Invocation) -> ToolResult:
        """What the caller reads: the agent's own words, and the runtime's below them."""
        why, kind = self.objection(child)
        if why:
            return self.refused(child, why, kind)
        run, outcome = self.run, await self.spawn(child)
        if outcome.failed:
            error = describe_failed_stage(run, outcome, child)
            self.failed(child, error, outcome.stop_reason)
            return ToolResult(text=f"{child.agent.id}: {error}", failed=True, child=child.session)
        _, stamp = self.completed(child)
        asked = escape_runtime_marks(render_reminder(list_parent_exchanges(run, child)))
        below = (
            asked
            + render_follow_up_hint(run, child.session)
            + render_work_summary(stamp, outcome.report.claims)
        )
        return ToolResult(
            text=escape_runtime_marks(outcome.report.content), child=child.session, footer=below
        )

    def objection(self, child: Invocation) -> tuple[str, str]:
        """Why an agent that was called is not begun, and the type of this error; empty if it may begin."""
        if not self.run.log.of(child.span) and (wrong := unfit_input(child.agent, child.original)):
            schema = msgspec.json.encode(child.agent.input.schema or {}, order="deterministic").decode()
            fitting = f" that fits {schema[:_SHOWN]}" if child.agent.input.schema else ""
            return f"{wrong}; ask again with JSON{fitting}", "InvalidInput"
        if limit := self.run.ledger.admit(child.span):
            return f"not allowed: {limit}", "LimitExceeded"
        return "", ""

    async def spawn(self, child: Invocation, *, custom: bool = False) -> Outcome:
        """Nothing speaks against `child`. `custom`: its caller made it up."""
        log, inv = self.run.log, self.inv
        spawned = SubAgentSpawned(
            parent=inv.session,
            session=child.session,
            specialist=child.agent.id,
            mission_length=len(child.original),
            has_custom_definition=custom,
            hierarchy_level=inv.session.count(":") + 1,
        )
        log.once(child.place, spawned)
        log.once(child.place, SubAgentExecuting(child.session, max_steps=child.agent.tuning.max_turns))
        return await run_handoff(self.run, inv, "delegate", child)

    def refused(self, child: Invocation, why: str, kind: str) -> ToolResult:
        """Noted with the caller, because the child never began."""
        self.run.log.once(self.inv.place, SubAgentFailed(child.session, error=why, error_type=kind))
        return ToolResult(text=why, failed=True)

    def failed(self, child: Invocation, error: str, kind: str) -> None:
        self.run.log.once(child.place, SubAgentFailed(child.session, error=error, error_type=kind))

    def completed(self, child: Invocation, key: str = "", artifact: str = "") -> tuple[int, WorkSummary]:
        """Its steps, and what was done for it. `key`: under which its result is found again."""
        run, steps = self.run, self.steps_taken(child)
        stamp = summarize_work(run.log, child.span)
        read = run.readings.within(child.span) if key else ()
        done = (child.session, True, steps, stamp.tool_calls, stamp.not_returned, key, artifact, read)
        run.log.once(child.place, SubAgentCompleted(*done))
        return steps, stamp

    def steps_taken(self, child: Invocation) -> int:
        """The turns of the called agent's own session, or of all its parts."""
        log = self.run.log
        if not child.agent.in_parts:
            return count_turns(log, child.span)
        asked = ((draft.span, draft.event) for draft in log.drafts if isinstance(draft.event, LlmRequest))
        return len({(span, event.turn) for span, event in asked if conversation(span) == child.span})


def build_called_limits(run: Run, child: Invocation) -> InheritedLimits:
    """With what the settings say of all agents that are called though no file names them."""
    settings = run.graph.settings.orchestration
    if settings.sub_agent_work_dir:
        run.bind()
    return replace(
        child.reach, allowlist=settings.sub_agent_tool_allowlist, work_dir=settings.sub_agent_work_dir or ""
    )
