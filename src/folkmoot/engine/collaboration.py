"""Carries on what agents do together: a collaboration, until it has ended or waits; single steps of plans, in runs of
their owners; and work sessions with their runs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from msgspec.structs import replace

from folkmoot.coordination import plan_steps as steps
from folkmoot.coordination.collaboration import (
    AskMove,
    CompleteMove,
    Move,
    RecordMove,
    Scene,
    WaitMove,
    askings_of,
)
from folkmoot.coordination.collaboration_phases import next_moves
from folkmoot.coordination.moot import Moot
from folkmoot.coordination.plan_service import details, errand_for
from folkmoot.coordination.record_store import RUNTIME, Author
from folkmoot.coordination.work_sessions import WorkSessions, becoming, completed, paused, resumed
from folkmoot.coordination.work_teams import Seat, compose
from folkmoot.domain.agent import Graph, MemberRole, find_agent
from folkmoot.domain.duration import later
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RUN_ENDS, RunCompleted, RunStarted
from folkmoot.domain.plan import Plan, StepStarted
from folkmoot.domain.sources import Sources, joined
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import WorkSession, WorkSessionAnswered, WorkSessionAsked, WorkSessionOpened
from folkmoot.engine.claims import host_of, lock_record
from folkmoot.engine.commands import CancelRun
from folkmoot.engine.history import last_entry
from folkmoot.engine.local import LocalEngine
from folkmoot.errors import DeclarationError, HandedOver, Held, Untrusted, WrongUse
from folkmoot.orchestration.history import RunHistory
from folkmoot.ports import Query, RecordQuery, RunQuery
from folkmoot.views.decisions import record
from folkmoot.views.result import Result

RunStarter = Callable[[str, str, Errand], Awaitable[Result]]
"""Run an agent with a request; a run whose name exists is gone on with."""
_RUNTIME = Author(RUNTIME)
INTERRUPTED = "was interrupted"
_PAUSES = {"waiting": "waits for a person: folkmoot inbox list", "cancelled": "was cancelled"}


def describe_pause(agent: str, purpose: str, status: str) -> str:
    """Why a run of such a status keeps a collaboration from going on; empty if it does not."""
    return f"{agent} ({purpose}) {_PAUSES[status]}" if status in _PAUSES else ""


class CollaborationStop(Value):
    """Why a collaboration does not go on by itself; empty: it has ended."""

    why: tuple[str, ...] = ()

    @property
    def interrupted(self) -> bool:
        return INTERRUPTED in self.why


class Collaboration:
    def __init__(self, moot: Moot, id: str, start: RunStarter, told: Callable[[Move], None]) -> None:
        """`told` hears of each move before it is made."""
        self._moot = moot
        self._id = id
        self._start = start
        self._told = told
        self.leaving = False
        """Set it, and nothing new is begun; what is under way is left to whoever hands its run over."""
        self.overruled = math.inf
        """The position of the journal at which somebody wanted the work to continue: a member whose run was cancelled
        before it is asked again."""

    async def carry_on(self) -> CollaborationStop:
        """Until it has ended or waits; one process at a time does."""
        try:
            async with lock_record(self._moot.journal, self._moot.clock, self._id):
                return await self._carried_on()
        except Held as held:
            return CollaborationStop((f"another process carries it on, at {host_of(held.owner)}",))

    async def _carried_on(self) -> CollaborationStop:
        while True:
            scene = await self.scene()
            coming = [WaitMove(INTERRUPTED)] if self.leaving else next_moves(scene)
            waits = tuple(move.why for move in coming if isinstance(move, WaitMove))
            if waits or not coming:
                return CollaborationStop(waits)
            for move in coming:
                self._told(move)
            parked = await asyncio.gather(*(self._perform(scene, move) for move in coming))
            if why := tuple(each for each in parked if each):
                return CollaborationStop(why)

    async def scene(self) -> Scene:
        return await read_collaboration_state(self._moot, self._id)

    async def _perform(self, scene: Scene, move: Move) -> str:
        """Why it does not go on; empty if it does."""
        if isinstance(move, AskMove):
            return await self._ask(scene, move)
        if isinstance(move, CompleteMove):
            await self._complete(scene, move.summary)
        elif isinstance(move, RecordMove):
            await move.make(self._moot)
        return ""

    async def _ask(self, scene: Scene, ask: AskMove) -> str:
        """Why it does not go on; empty if the member has answered."""
        asking = scene.askings.get(ask.purpose)
        run = asking.run if asking else await self._named(ask, "")
        try:
            result = await self._started(scene, ask, run)
            if asking and result.status == "cancelled" and await self._is_overruled(run):
                run = await self._named(ask, run)
                result = await self._started(scene, ask, run)
        except HandedOver:
            return INTERRUPTED
        except Held as error:
            return f"another process carries it on: {error}"
        except (DeclarationError, Untrusted, WrongUse) as error:
            return await self._refused(ask.purpose, run, str(error))
        if pause := describe_pause(ask.agent, ask.purpose, result.status):
            return pause
        report = result.final_report.content if result.final_report else ""
        said = WorkSessionAnswered(
            ask.purpose, run, result.success, report or result.error or "", result.sources
        )
        return await self._answer(said)

    async def _is_overruled(self, run: str) -> bool:
        last = await last_entry(self._moot.journal, run)
        return last is None or last.seq < self.overruled

    async def _named(self, ask: AskMove, before: str) -> str:
        """Its run has a name that is durable before it begins; `before` is one that was given up."""
        run = _RUNTIME.new_id("", f"{self._id}/{ask.purpose}/{before}".rstrip("/"))
        asked = WorkSessionAsked(ask.purpose, ask.agent, run)
        await self._moot.work_sessions.change(self._id, lambda _: [asked], _RUNTIME)
        return run

    async def _started(self, scene: Scene, ask: AskMove, run: str) -> Result:
        errand = replace(
            ask.errand, work_session=self._id, blocks=ask.blocks, run=run, sources=await self._read(scene)
        )
        return await self._start(ask.agent, scene.work.goal, errand)

    async def _read(self, scene: Scene) -> Sources:
        """What was read by those who wrote what a member is told."""
        answers = (asking.answer for asking in scene.askings.values() if asking.answer)
        plan = await self._moot.plans.sources([scene.plan.id]) if scene.plan else ()
        made = await self._moot.decisions.sources([each.id for each in scene.decisions])
        return joined(*(answer.sources for answer in answers), plan, made)

    async def _refused(self, purpose: str, run: str, why: str) -> str:
        """By an agent that cannot run at all, which is its answer; or because somebody paused or ended the work."""
        work = await self._moot.work_sessions.get(self._id)
        if work.paused or work.ended:
            return why
        return await self._answer(WorkSessionAnswered(purpose, run, False, why))

    async def _answer(self, answered: WorkSessionAnswered) -> str:
        await self._moot.work_sessions.change(self._id, lambda _: [answered], _RUNTIME)
        return ""

    async def _complete(self, scene: Scene, summary: str) -> None:
        """Whoever comes later finds what was done and what was decided with the work session."""
        sessions, id = self._moot.work_sessions, self._id
        for step in scene.plan.steps if scene.plan else ():
            await sessions.add_artifact(id, "log", f"step {step.id}: {step.description}", step.note.encode())
        for decision in scene.decisions:
            await sessions.add_artifact(id, "doc", f"ADR: {decision.topic}", record(decision).encode())
        await sessions.snapshot(id, "final")
        taken = tuple(decision.id for decision in scene.decisions)
        await sessions.change(id, completed(summary, taken), _RUNTIME)


async def read_collaboration_state(moot: Moot, id: str) -> Scene:
    events = [entry.event async for entry in moot.journal.read(Query(stream=id))]
    here = RecordQuery(work_session=id)
    plans = [*(await moot.plans.select(here)).values()]
    return Scene(
        work=await moot.work_sessions.get(id),
        now=moot.clock.now(),
        askings=askings_of(events),
        plan=plans[-1] if plans else None,
        tasks=await moot.tasks.select(here),
        decisions=tuple((await moot.decisions.select(here)).values()),
    )


_NEEDS: dict[MemberRole, str] = {"lead": "plan_approve", "planner": "plan_submit"}
"""The tool without which a role cannot do its part."""


def build_seats(graph: Graph, members: Iterable[tuple[str, MemberRole | None]]) -> list[Seat]:
    """For agents by file or id, in a role or in their own; for nobody in particular: every agent of the project."""
    wanted = list(members) or [(agent.file, None) for agent in graph.agents.values()]
    found = [(find_agent(graph, name), role) for name, role in wanted]
    return [Seat(role or agent.role, agent=agent.id) for agent, role in found]


async def open_collaboration(
    moot: Moot, opening: WorkSessionOpened, seats: Sequence[Seat], chance: str, author: Author = Author()
) -> WorkSession:
    """A new work session with this team; or, under a `chance` that was used before, the one that was opened then.

    Raises `WrongUse` for a team that could not reach anything.
    """
    team = compose(seats, moot.graph.agents.values())
    agents = {agent.id: agent for agent in moot.graph.agents.values()}
    if not team.in_role("lead"):
        raise WrongUse(
            "the team has no lead: give one agent `role: lead`, or name one as lead among its members"
            " (--member AGENT=lead)"
        )
    for role, tool in _NEEDS.items():
        for member in team.in_role(role):
            if not {tool, "plans"} & {*agents[member].tools}:
                raise WrongUse(f"{member} is the {role} and lacks {tool}: put `plans` into its `tools`")
    opened = await moot.work_sessions.open(opening, author, chance=chance)
    return opened if opened.team else await moot.work_sessions.form(opened.id, seats, author)


class StepRun(Value):
    """What is asked of whom."""

    owner: str
    request: str
    errand: Errand


async def begin_step_run(moot: Moot, id: str, step: str, author: Author, text: str = "") -> StepRun:
    """The step is under way from here on, unless it was before: a run may have failed. `text` instead of its own."""
    plan = await moot.plans.get(id)
    wanted = steps.step_of(plan, step)
    find_agent(moot.graph, wanted.owner)
    if not wanted.begun_by:
        plan = await moot.plans.change(id, author, steps.start, step)
    elif runs := [run for run in await _find_step_runs(moot, id, step) if not await _has_ended(moot, run)]:
        raise WrongUse(
            f"run {runs[-1]} carries out step {step} of {id} already; go on with it: folkmoot runs resume {runs[-1]}"
        )
    errand = replace(errand_for(plan, step), completes_step=True, sources=await moot.plans.sources([id]))
    said = (
        f"It is accepted when: {wanted.acceptance}",
        *details(wanted),
        *((f"Said last: {why}",) if (why := wanted.reason) else ()),
    )
    return StepRun(wanted.owner, text or "\n\n".join((wanted.description, "\n".join(said))), errand)


async def complete_step_of_run(moot: Moot, run: str) -> Plan | None:
    """Complete the step that a run was for, if that is completed; nothing if somebody said otherwise meanwhile.

    Whoever ran it: here, a worker, or somebody after a crash. It counts only if it began after the step was begun last.
    """
    past = RunHistory([entry.draft async for entry in moot.journal.read(Query(stream=run))])
    end = past.last if past and not past.is_forked else None  # a fork only tries what might have been
    if not isinstance(end, RunCompleted):
        return None
    id, step, by = past.started.errand.plan, past.started.errand.step, Author(RUNTIME, sources=end.sources)
    if run in await _find_step_runs(moot, id, step):
        with suppress(WrongUse):
            return await moot.plans.change(id, by, steps.complete, step, end.outcome.report.content)
    return None


async def complete_finished_steps(moot: Moot) -> list[Plan]:
    """What a process that died between the end of a run and that of its step has left undone."""
    settled = []
    for plan in (await moot.plans.select(RecordQuery(statuses=("committed",)))).values():
        for step in plan.steps:
            if step.begun_by and not step.is_over:
                for run in await _find_step_runs(moot, plan.id, step.id):
                    settled += [done] if (done := await complete_step_of_run(moot, run)) else []
    return settled


_SKEW = 86_400.0
"""Seconds by which the clocks of hosts may differ."""


async def _find_step_runs(moot: Moot, plan: str, step: str) -> list[str]:
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


@dataclass(frozen=True)
class WorkSessionControl:
    sessions: WorkSessions
    engine: LocalEngine

    async def pause(self, id: str, reason: str = "", author: Author = Author()) -> list[str]:
        """From here on no run starts in it, and those under way begin nothing new; they park. Their names."""
        await self.sessions.change(id, paused(reason), author)
        return await self.engine.look_at_pause(id)

    async def resume(self, id: str, author: Author = Author()) -> list[str]:
        """Its runs may go on: workers are woken for them, the others wait for `Folkmoot.resume`. Their names."""
        await self.sessions.change(id, resumed, author)
        return await self.engine.look_at_pause(id)

    async def cancel(self, id: str, reason: str = "", author: Author = Author()) -> list[str]:
        """Give it up and stop its runs, wherever they run. Their names."""
        await self.sessions.change(id, becoming("Cancelled", reason), author)
        runs = await self.engine.open_runs(id)
        for run in runs:
            with suppress(WrongUse):  # it ended meanwhile
                await self.engine.send(run, CancelRun(reason or "its work session was cancelled"))
        return runs
