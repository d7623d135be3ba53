"""One agent from request to outcome: advisors, session, route, handoff, in this order.

To run a span is: if the journal holds its end, return that; if it holds a beginning, resume; otherwise start.
Sessions do so by folding what their span recorded, and the code here runs the same way every time. So recovery
needs no second path. Only this file may start a session.
"""

from __future__ import annotations

import asyncio
from functools import partial

from msgspec.structs import replace

from folkmoot.domain.events import BudgetExceeded, SessionCancelled, SessionStarted
from folkmoot.domain.report import ROUTE, Outcome, Report
from folkmoot.orchestration.advisors import consult
from folkmoot.orchestration.delegate import SessionTools
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.transfer import follow_route, hand_over, staged
from folkmoot.session.run import Session, World
from folkmoot.session.state import Brief

ROOT = "0"


async def run_root(run: Run, file: str, request: str, began: str) -> Outcome:
    """The whole run; a failure names the stage it happened in. `began` is when the run was first started."""
    agent = run.graph.agents[file]
    run.ledger.open(ROOT, run.graph.settings.budget, "the run", began)
    inv = Invocation(agent=agent, span=ROOT, session=run.id, original=request)
    outcome = await run_agent(run, inv)
    if not outcome.failed:
        return outcome
    return replace(outcome, error=staged(outcome.error, outcome.span, inv))


async def run_agent(run: Run, inv: Invocation) -> Outcome:
    """An agent with everything its file declares; children come back here, whatever started them."""
    start = partial(run_agent, run)
    if inv.parent and (limit := run.ledger.admit(inv.span)):
        return _not_begun(run, inv, limit)
    run.ledger.open(inv.span, inv.agent.budget, repr(inv.agent.id))
    advised = await consult(run, inv, start)
    outcome = await _converse(run, advised)
    if outcome.exit == ROUTE:
        outcome = await follow_route(run, inv, outcome, start)
    if inv.agent.handoff and not outcome.failed:
        outcome = await hand_over(run, inv, outcome, start)
    return outcome


async def _converse(run: Run, inv: Invocation) -> Outcome:
    """The agent's own session, begun or taken up again."""
    log, place = run.log, inv.place
    world = World(
        models=run.models,
        tools=SessionTools(run, inv, partial(run_agent, run)),
        clock=run.clock,
        note=partial(log.note, place),
        settle=log.settle,
        write_soon=log.write_soon,
        keep=run.keep,
        allowance=partial(run.ledger.allowance, inv.span),
        turnstile=run.turnstile,
        hear=partial(run.hear, inv.span) if run.hear else None,
    )
    past = log.of(inv.span)
    session = Session(_brief(run, inv), past, world)
    if not any(isinstance(event, SessionStarted) for event in past):
        session.happen(
            SessionStarted(
                inv.agent.file, inv.prompt(run), parent=inv.parent, cause=inv.cause, title=inv.title
            )
        )
    try:
        return await session.run()
    except asyncio.CancelledError:
        log.note(place, SessionCancelled(reason="the run was cancelled"))
        raise


def _brief(run: Run, inv: Invocation) -> Brief:
    kit = run.kits.of(inv.agent, inv.reach)
    return Brief(
        agent=inv.agent,
        exits=kit.exits,
        tools=kit.tools,
        offered=kit.offered,
        schema_tokens=kit.schema_tokens,
        run=run.id,
        session=inv.session,
        span=inv.span,
        seed=run.seed,
        max_turns=inv.agent.tuning.max_turns,
    )


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
