"""An agent that works by a plan: in several sessions of its own file, around which stands its session as others see it.

That one holds no conversation. It begins with the request and ends with the outcome of the last part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from folkmoot.domain.agent import Agent
from folkmoot.domain.events import SessionCancelled, SessionCompleted, SessionFailed, SessionStarted
from folkmoot.domain.report import Outcome
from folkmoot.orchestration.briefs import opening
from folkmoot.orchestration.contract import run_split
from folkmoot.orchestration.invocation import Converse, Invocation, Run
from folkmoot.orchestration.spar import run_spar
from folkmoot.orchestration.strategies import plan_and_execute, plan_and_react

Way = Callable[[Run, Invocation, Converse], Awaitable[Outcome]]


async def run_planned(run: Run, inv: Invocation, converse: Converse) -> Outcome:
    if not any(isinstance(event, SessionStarted) for event in run.log.of(inv.span)):
        run.log.note(inv.place, opening(run, inv))
    try:
        outcome = await _way_of(inv.agent)(run, inv, converse)
    except asyncio.CancelledError:
        run.log.once(inv.place, SessionCancelled(reason="the run was cancelled"))
        raise
    run.log.once(inv.place, (SessionFailed if outcome.failed else SessionCompleted)(outcome))
    return outcome


def _way_of(agent: Agent) -> Way:
    if agent.split != "never":
        return run_split
    ways: dict[str, Way] = {
        "plan_and_execute": plan_and_execute,
        "plan_and_react": plan_and_react,
        "spar": run_spar,
    }
    return ways[agent.tuning.planning_strategy]
