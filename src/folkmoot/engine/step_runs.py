"""Steps of plans that their owners carry out in runs: how such a run is begun, and what its end means to the step.

Whoever runs it, here, a worker or somebody after a crash: a run that is completed completes the step. It counts only
if it began after the step was begun last; a step that was reopened since is another matter.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from folkmoot.coordination.author import RUNTIME, Author
from folkmoot.coordination.moot import Moot
from folkmoot.coordination.plans import steps
from folkmoot.coordination.plans.errand import details, errand_for
from folkmoot.domain.agent import find_agent
from folkmoot.domain.duration import later
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RUN_ENDS, RunCompleted, RunStarted
from folkmoot.domain.plan import Plan, StepStarted
from folkmoot.domain.value import Value
from folkmoot.engine.history import last_entry
from folkmoot.errors import FolkmootError, WrongUse
from folkmoot.orchestration.history import RunHistory
from folkmoot.ports import Query, RecordQuery, RunQuery
from folkmoot.views.result import Result


class StepRun(Value):
    """What is asked of whom."""

    owner: str
    request: str
    errand: Errand


async def begun(moot: Moot, id: str, step: str, author: Author, text: str = "") -> StepRun:
    """The step is under way from here on, unless it was before: a run may have failed. `text` instead of its own."""
    plan = await moot.plans.get(id)
    wanted = steps.step_of(plan, step)
    find_agent(moot.graph, wanted.owner)
    if not wanted.begun_by:
        plan = await moot.plans.change(id, author, steps.start, step)
    elif runs := [run for run in await _runs_for(moot, id, step) if not await _has_ended(moot, run)]:
        raise WrongUse(
            f"run {runs[-1]} carries out step {step} of {id} already; go on with it: folkmoot runs resume {runs[-1]}"
        )
    errand = replace(
        errand_for(plan, step), completes_step=True, sources=await moot.plans.keeper.sources([id])
    )
    said = (
        f"It is accepted when: {wanted.acceptance}",
        *details(wanted),
        *((f"Said last: {why}",) if (why := wanted.reason) else ()),
    )
    return StepRun(wanted.owner, text or "\n\n".join((wanted.description, "\n".join(said))), errand)


async def settle_its_step(moot: Callable[[], Moot], result: Result) -> None:
    """What is not settled now, because the journal is away or the process dies, `settle_all` finds later."""
    if result.success and result.errand.completes_step:
        with suppress(FolkmootError):
            await settle(moot(), result.run_id)


async def settle(moot: Moot, run: str) -> Plan | None:
    """Complete the step that a run was for, if that is completed; nothing if somebody said otherwise meanwhile."""
    past = RunHistory([entry.draft async for entry in moot.journal.read(Query(stream=run))])
    end = past.last if past and not past.is_forked else None  # a fork only tries what might have been
    if not isinstance(end, RunCompleted):
        return None
    id, step, by = past.started.errand.plan, past.started.errand.step, Author(RUNTIME, sources=end.sources)
    if run in await _runs_for(moot, id, step):
        with suppress(WrongUse):
            return await moot.plans.change(id, by, steps.complete, step, end.outcome.report.content)
    return None


async def settle_all(moot: Moot) -> list[Plan]:
    """What a process that died between the end of a run and that of its step has left undone."""
    settled = []
    for plan in (await moot.plans.keeper.select(RecordQuery(statuses=("committed",)))).values():
        for step in plan.steps:
            if step.begun_by and not step.is_over:
                for run in await _runs_for(moot, plan.id, step.id):
                    settled += [done] if (done := await settle(moot, run)) else []
    return settled


_SKEW = 86_400.0
"""Seconds by which the clocks of hosts may differ."""


async def _runs_for(moot: Moot, plan: str, step: str) -> list[str]:
    """Those that are to complete the step, since it was begun last."""
    since, at = 0, ""
    async for entry in moot.journal.read(Query(stream=plan, types=(StepStarted.type,))):
        if isinstance(entry.event, StepStarted) and entry.event.step == step:
            since, at = entry.seq, entry.draft.ts
    rows = await moot.journal.runs(RunQuery(since=later(at, -_SKEW), sort="started")) if since else []
    found = []
    for row in rows:
        if row.began > since and row.part == f"step {step}":
            async for entry in moot.journal.read(Query(stream=row.run, limit=1)):
                errand = entry.event.errand if isinstance(entry.event, RunStarted) else Errand()
                if errand.completes_step and (errand.plan, errand.step) == (plan, step):
                    found.append(row.run)
    return found


async def _has_ended(moot: Moot, run: str) -> bool:
    last = await last_entry(moot.journal, run)
    return last is not None and isinstance(last.event, RUN_ENDS)
