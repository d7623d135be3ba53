"""Advisors: agents consulted in parallel before another agent's session."""

from __future__ import annotations

from msgspec.structs import replace

from folkmoot.domain.errand import Block
from folkmoot.domain.events import AdvisorCompleted, AdvisorFailed, AdvisorStarted
from folkmoot.orchestration.freeze import footer
from folkmoot.orchestration.invocation import Invocation, Run, Start
from folkmoot.orchestration.stamp import claimed, stamp_of, unstamped
from folkmoot.orchestration.transfer import staged


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
