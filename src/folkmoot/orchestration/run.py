"""One agent from request to outcome: advisors, session or team, route, handoff, in this order.

To run a span is: if the journal holds its end, return that; if it holds a beginning, resume; otherwise start.
Sessions do so by folding what their span recorded, and the code here runs the same way every time. So recovery
needs no second path. Only this file may start a session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from folkmoot.domain.events import BudgetExceeded, RunStarted, SessionCancelled, SessionStarted
from folkmoot.domain.gate import StepPolicy
from folkmoot.domain.report import Outcome, Report
from folkmoot.domain.secrets import Secrets
from folkmoot.domain.spans import ROOT
from folkmoot.domain.team_events import Thread
from folkmoot.orchestration.ask_parent import SessionInbox
from folkmoot.orchestration.briefs import brief_for, opening
from folkmoot.orchestration.clarify import freeze_or_release, release
from folkmoot.orchestration.delegate import SessionTools
from folkmoot.orchestration.invocation import Ear, Invocation, Run
from folkmoot.orchestration.reach import Reach, is_strict
from folkmoot.orchestration.readings import record_claims
from folkmoot.orchestration.transfer import carry_on, consult, staged
from folkmoot.ports import Hear
from folkmoot.session.run import Session, SessionPorts
from folkmoot.session.state import Brief
from folkmoot.session.steps import Ask


async def run_root(run: Run, started: RunStarted) -> Outcome:
    """The whole run; a failure names the stage it happened in."""
    agent = run.graph.agents[started.agent]
    run.open_budget(ROOT, run.graph.settings.budget, "the run")
    if started.errand.policy != StepPolicy():
        run.step.open(started.errand.policy, run.log, run.clock)
        run.open_budget(ROOT, run.step.budget, f"step {started.errand.step}")
    reach = Reach(strict=is_strict(run.graph, agent), taint=started.errand.sources)
    inv = Invocation(
        agent=agent,
        span=ROOT,
        session=run.id,
        original=started.request,
        blocks=started.errand.blocks,
        parts=started.errand.attachments,
        reach=reach,
        thread=Thread(hops=started.errand.hops, main=True),
        facing=True,
        last=True,
    )
    outcome = await run_agent(run, inv)
    if not outcome.failed:
        return outcome
    return replace(outcome, error=staged(run, outcome, inv))


async def run_agent(run: Run, inv: Invocation) -> Outcome:
    """An agent with everything its file declares; children come back here, whatever started them."""
    if inv.cause in ("clarify", "ask"):
        return await _converse(run, inv, brief_for(run, inv))  # nothing around the conversation runs again
    try:
        return await _run_declared(run, inv)
    except asyncio.CancelledError:
        release(run.log, run.chats, inv.span, "the run was cancelled")
        raise


async def _run_declared(run: Run, inv: Invocation) -> Outcome:
    start = partial(run_agent, run)
    if inv.parent and (limit := run.ledger.admit(inv.span)):
        return _not_begun(run, inv, limit)
    run.open_budget(inv.span, inv.agent.budget, repr(inv.agent.id))
    advised = await consult(run, inv, start)
    if inv.agent.team:
        from folkmoot.orchestration.team import run_team

        own = await run_team(run, advised, start, partial(_converse, run))
    elif inv.agent.in_parts:
        from folkmoot.orchestration.planned import run_planned

        own = await run_planned(run, advised, partial(_converse, run))
    else:
        own = await _converse(run, advised, brief_for(run, advised))
    outcome = await carry_on(run, inv, own, start)
    freeze_or_release(run, inv, own, outcome)
    return outcome


async def _converse(run: Run, inv: Invocation, brief: Brief) -> Outcome:
    """The agent's own session, begun or taken up again."""
    log, place, start = run.log, inv.place, partial(run_agent, run)
    ports = SessionPorts(
        note=partial(log.note, place),
        journal=log,
        budget=run.ledger,
        inbox=SessionInbox(run, inv, start),
        tools=SessionTools(run, inv, start, run.kit(inv)),
        models=run.models,
        clock=run.clock,
        hear=listening(run.ear, run.secrets, inv.span) if run.ear else None,
    )
    past = log.of(inv.span)
    session = Session(brief, past, ports)
    if not any(isinstance(event, SessionStarted) for event in past):
        session.happen(opening(run, inv))
    run.under_way[inv.session] = session
    try:
        with run.inbox.attended(inv.span, session.happen):
            outcome = await session.run()
    except asyncio.CancelledError:
        log.note(place, SessionCancelled(reason="the run was cancelled"))
        raise
    finally:
        del run.under_way[inv.session]
    record_claims(log, place, outcome.report)
    return outcome


def _not_begun(run: Run, inv: Invocation, limit: str) -> Outcome:
    run.log.once(inv.place, BudgetExceeded(limit=limit))
    error = f"budget exceeded: {limit}"
    return Outcome(
        agent=inv.agent.id,
        span=inv.span,
        report=Report(content=error, metadata={"reason": "budget_exceeded"}),
        stop_reason="BUDGET_EXCEEDED",
        error=error,
    )


def listening(ear: Ear, secrets: Secrets, span: str) -> Callable[[Ask], Hear]:
    """How the attempts of the session at this span are heard."""

    def begin(ask: Ask) -> Hear:
        listeners: list[Hear] = [partial(ear.everything, span)]
        if ask.aloud and ear.report:
            listeners.append(ear.report())
        concealed = secrets.in_pieces()

        def hear(piece: str) -> None:
            if shown := concealed(piece):
                for listener in listeners:
                    listener(shown)

        return hear

    return begin
