"""Carries a collaboration on: finds out what comes next, does it, and looks again, until it has ended or waits."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from folkmoot.coordination.author import RUNTIME, Author
from folkmoot.coordination.collaboration import moves
from folkmoot.coordination.collaboration.executing import REASSIGN, RETRY, SKIP, SUGGESTED
from folkmoot.coordination.collaboration.moves import AskMove, Move, Wait
from folkmoot.coordination.collaboration.next import next_moves
from folkmoot.coordination.collaboration.scene import Scene, askings_of, chance_of
from folkmoot.coordination.moot import Moot
from folkmoot.coordination.plans import life, steps
from folkmoot.coordination.plans.actor import PlanActor
from folkmoot.coordination.plans.life import Events
from folkmoot.coordination.task.opening import NewTask
from folkmoot.coordination.work_sessions import decide
from folkmoot.coordination.work_sessions.desk import Milestone
from folkmoot.coordination.work_sessions.forming import Seat, compose
from folkmoot.domain.agent import Graph, MemberRole, find_agent
from folkmoot.domain.collaboration_events import WorkSessionAnswered, WorkSessionAsked
from folkmoot.domain.decision import About, Option, Proposal, Voter
from folkmoot.domain.errand import Errand
from folkmoot.domain.plan import Plan
from folkmoot.domain.sources import Sources, joined
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import WorkSession
from folkmoot.domain.work_session_events import WorkSessionOpened
from folkmoot.engine.owner import alone, host_of
from folkmoot.errors import DeclarationError, HandedOver, Held, Untrusted, WrongUse
from folkmoot.ports import Query, RecordQuery
from folkmoot.views.decisions import record
from folkmoot.views.result import Result

Start = Callable[[str, str, Errand], Awaitable[Result]]
"""Run an agent with a request; a run whose name exists is gone on with."""
_RUNTIME = Author(RUNTIME)
INTERRUPTED = "was interrupted"
_PAUSES = {"waiting": "waits for a person: folkmoot inbox list", "cancelled": "was cancelled"}


def paused_by(agent: str, purpose: str, status: str) -> str:
    """Why a run of such a status keeps a collaboration from going on; empty if it does not."""
    return f"{agent} ({purpose}) {_PAUSES[status]}" if status in _PAUSES else ""


class Stopped(Value):
    """Why a collaboration does not go on by itself; empty: it has ended."""

    why: tuple[str, ...] = ()

    @property
    def interrupted(self) -> bool:
        return INTERRUPTED in self.why


class Collaboration:
    def __init__(self, moot: Moot, id: str, start: Start, told: Callable[[Move], None]) -> None:
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

    async def carry_on(self) -> Stopped:
        """Until it has ended or waits; one process at a time does."""
        try:
            async with alone(self._moot.journal, self._moot.clock, self._id):
                return await self._carried_on()
        except Held as held:
            return Stopped((f"another process carries it on, at {host_of(held.owner)}",))

    async def _carried_on(self) -> Stopped:
        while True:
            scene = await self.scene()
            coming = [Wait(INTERRUPTED)] if self.leaving else next_moves(scene)
            waits = tuple(move.why for move in coming if isinstance(move, Wait))
            if waits or not coming:
                return Stopped(waits)
            for move in coming:
                self._told(move)
            parked = await asyncio.gather(*(self._perform(scene, move) for move in coming))
            if why := tuple(each for each in parked if each):
                return Stopped(why)

    async def scene(self) -> Scene:
        return await scene_of(self._moot, self._id)

    async def _perform(self, scene: Scene, move: Move) -> str:
        """Why it does not go on; empty if it does."""
        if isinstance(move, AskMove):
            return await self._ask(scene, move)
        await (self._on_session(scene, move) or self._on_plan(scene, move) or self._on_records(scene, move))
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
        if pause := paused_by(ask.agent, ask.purpose, result.status):
            return pause
        report = result.final_report.content if result.final_report else ""
        said = WorkSessionAnswered(
            ask.purpose, run, result.success, report or result.error or "", result.sources
        )
        return await self._answer(said)

    async def _is_overruled(self, run: str) -> bool:
        last = self._moot.journal.read(Query(stream=run, newest_first=True, limit=1))
        return all([entry.seq < self.overruled async for entry in last])

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
        plan = await self._moot.plans.keeper.sources([scene.plan.id]) if scene.plan else ()
        made = await self._moot.decisions.keeper.sources([each.id for each in scene.decisions])
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

    def _on_session(self, scene: Scene, move: Move) -> Awaitable[object] | None:
        sessions, id = self._moot.work_sessions, self._id
        match move:
            case moves.Become(state=state, reason=reason):
                return sessions.change(id, decide.becoming(state, reason), _RUNTIME)
            case moves.SnapshotMove(reason=reason, step=step, attempt=attempt):
                return sessions.snapshot(id, Milestone(reason, step=step, state={"attempt": attempt}))
            case moves.Complete(summary=summary):
                return self._complete(scene, summary)
        return None

    def _on_plan(self, scene: Scene, move: Move) -> Awaitable[object] | None:
        if scene.plan is None or not (deed := _DEEDS.get(type(move))):
            return None
        purpose = getattr(move, "purpose", "")
        by = replace(_member(scene, purpose), span=_place(move)) if purpose else _RUNTIME
        return self._moot.plans.change(scene.plan.id, by, deed(move))

    async def _on_records(self, scene: Scene, move: Move) -> None:
        moot, plan = self._moot, scene.plan
        assert plan is not None
        match move:
            case moves.OpenTask(step=step, attempt=attempt):
                owned = steps.step_of(plan, step)
                desk = moot.tasks.of(owned.owner, replace(_RUNTIME, work_session=self._id))
                new = NewTask(owned.description, context=f"Done when: {owned.acceptance}")
                await desk.start(new, chance_of(plan, owned, attempt))
            case moves.EndTask(task=task, summary=summary, reason=reason):
                desk = moot.tasks.of(scene.tasks[task].agent_id, _RUNTIME)
                await (desk.cancel(task, reason) if reason else desk.complete(task, summary, force=True))
            case moves.Propose() as wanted:
                await moot.decisions.propose(
                    replace(_RUNTIME, work_session=self._id),
                    _proposal(scene, plan, wanted),
                    chance_of(plan, steps.step_of(plan, wanted.step), wanted.attempt),
                )
            case moves.Abstain(decision=decision, voter=voter, reason=reason):
                await moot.decisions.abstain_for(decision, voter, reason)
            case moves.SettleDecision(decision=decision):
                await moot.decisions.settle(decision)

    async def _complete(self, scene: Scene, summary: str) -> None:
        """Whoever comes later finds what was done and what was decided with the work session."""
        sessions, id = self._moot.work_sessions, self._id
        for step in scene.plan.steps if scene.plan else ():
            await sessions.add_artifact(id, "log", f"step {step.id}: {step.description}", step.note.encode())
        for decision in scene.decisions:
            await sessions.add_artifact(id, "doc", f"ADR: {decision.topic}", record(decision).encode())
        await sessions.snapshot(id, Milestone("final"))
        taken = tuple(decision.id for decision in scene.decisions)
        await sessions.change(id, decide.completed(summary, taken), _RUNTIME)


async def scene_of(moot: Moot, id: str) -> Scene:
    events = [entry.event async for entry in moot.journal.read(Query(stream=id))]
    here = RecordQuery(work_session=id)
    plans = [*(await moot.plans.keeper.select(here)).values()]
    return Scene(
        work=await moot.work_sessions.get(id),
        now=moot.clock.now(),
        askings=askings_of(events),
        plan=plans[-1] if plans else None,
        tasks=await moot.tasks.keeper.select(here),
        decisions=tuple((await moot.decisions.keeper.select(here)).values()),
    )


_DEEDS: dict[type[Move], Callable[[Any], Callable[[Plan, PlanActor], Events]]] = {
    moves.CommitPlanMove: lambda _: life.commit,
    moves.ReviewPlanMove: lambda move: partial(life.review, verdict=move.verdict, text=move.text),
    moves.StartStepMove: lambda move: partial(steps.start, id=move.step),
    moves.AcceptStepMove: lambda move: partial(steps.accept, id=move.step),
    moves.BlockStepMove: lambda move: partial(
        steps.block, id=move.step, reason=move.reason, decision=move.decision
    ),
    moves.ResumeStepMove: lambda move: partial(steps.resume, id=move.step, reason=move.reason),
    moves.ReassignStepMove: lambda move: partial(
        steps.reassign, id=move.step, to=move.to, reason=move.reason
    ),
    moves.CompleteStepMove: lambda move: partial(
        steps.complete, id=move.step, note=move.note, skipped=move.skipped
    ),
    moves.ReviewStepMove: lambda move: partial(
        steps.review, id=move.step, verdict=move.verdict, text=move.text
    ),
}
"""What a move does to the plan."""


def _place(move: Any) -> str:
    """Where a member said what a move records: one run may say something about several steps."""
    return f"{move.purpose}/{getattr(move, 'step', '')}".rstrip("/")


def _member(scene: Scene, purpose: str) -> Author:
    """A member that has said something in its run."""
    asking = scene.askings[purpose]
    return Author(asking.agent, asking.run, purpose, scene.work.id)


def _proposal(scene: Scene, plan: Plan, wanted: moves.Propose) -> Proposal:
    step = steps.step_of(plan, wanted.step)
    others = [each for each in scene.who_may("execute") if each not in (step.owner, scene.lead)]
    options = (
        *([Option(SUGGESTED, wanted.suggestion)] if wanted.suggestion else ()),
        Option(RETRY, f"{step.owner} tries again"),
        *(Option(f"{REASSIGN}{each}", f"{each} takes the step over") for each in others),
        Option(SKIP, "the step is left out"),
    )
    return Proposal(
        topic=f"{step.id} ({step.description}) is blocked: {wanted.reason}",
        options=options,
        participants=tuple(map(Voter, _voters(scene))),
        evidence=(step.owner,),
        lead=scene.lead,
        about=About(plan.id, step.id),
        work_session=scene.work.id,
    )


def _voters(scene: Scene) -> Sequence[str]:
    """All but the lead, who decides where they do not; with fewer than two of them the lead votes too."""
    voters = [each for each in scene.who_may("vote") if each != scene.lead]
    return voters if len(voters) > 1 else [*voters, scene.lead]


_NEEDS: dict[MemberRole, str] = {"lead": "plan_approve", "planner": "plan_submit"}
"""The tool without which a role cannot do its part."""


def seats(graph: Graph, members: Iterable[tuple[str, MemberRole | None]]) -> list[Seat]:
    """For agents by file or id, in a role or in their own; for nobody in particular: every agent of the project."""
    wanted = list(members) or [(agent.file, None) for agent in graph.agents.values()]
    found = [(find_agent(graph, name), role) for name, role in wanted]
    return [Seat(role or agent.role, agent=agent.id) for agent, role in found]


async def gathered(
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
