"""The work sessions of a project: what may happen to one, and which one a new run belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Concatenate, ParamSpec, get_args

import msgspec
from msgspec.structs import replace

from folkmoot.coordination.record_store import RUNTIME, Author, Decide, RecordStore
from folkmoot.coordination.work_teams import Seat, compose, narrowed, refusal
from folkmoot.domain.agent import Graph
from folkmoot.domain.category import CATEGORIES, CategoryId
from folkmoot.domain.duration import seconds_between
from folkmoot.domain.entry import Event
from folkmoot.domain.errand import Block, Errand, own_work_session
from folkmoot.domain.records import WORK_SESSION
from folkmoot.domain.work_session import (
    ARCHIVED_AFTER,
    NEXT,
    Action,
    ArtifactKind,
    Roster,
    SnapshotCreated,
    SnapshotReason,
    WorkSession,
    WorkSessionArtifactAdded,
    WorkSessionCategorised,
    WorkSessionChanged,
    WorkSessionCompleted,
    WorkSessionEntrusted,
    WorkSessionLabelled,
    WorkSessionOpened,
    WorkSessionPaused,
    WorkSessionRefused,
    WorkSessionResumed,
    WorkSessionTeamFormed,
    WorkState,
    activity,
    counts,
)
from folkmoot.errors import NotFound, WrongUse
from folkmoot.ports import Clock, Journal, Query, RunQuery

P = ParamSpec("P")


def _change(
    decide: Callable[Concatenate[WorkSession | None, P], Sequence[Event]],
) -> Callable[P, Decide[WorkSession]]:
    """A change that is told first what it needs beside the record: `becoming("Planning")`."""

    def told(*args: P.args, **kwargs: P.kwargs) -> Decide[WorkSession]:
        return lambda record: decide(record, *args, **kwargs)

    return told


@_change
def opened(
    record: WorkSession | None, opening: WorkSessionOpened, team: Roster | None = None
) -> Sequence[Event]:
    """With the team that it takes over from the one before it."""
    if record and record.goal:
        return ()  # by the same call, before a crash
    if not opening.goal.strip():
        raise WrongUse("a work session needs a goal: say what shall be reached")
    return (opening, *([WorkSessionTeamFormed(team)] if team else ()))


@_change
def formed(record: WorkSession | None, team: Roster) -> Sequence[Event]:
    return () if _going(record).team == team else (WorkSessionTeamFormed(team),)


@_change
def becoming(record: WorkSession | None, state: WorkState, reason: str = "") -> Sequence[Event]:
    """On to another state; refused if that does not follow from where it is."""
    now = _there(record)
    if state not in get_args(WorkState):
        raise NotFound(f"there is no state {state!r}; they are {', '.join(NEXT)}", code="state_not_found")
    if now.state == state:
        return ()
    _must_lead_to(now, state)
    if state == "TeamFormed":
        raise WrongUse(
            f"{now.id} has no team yet; form one: folkmoot work team {now.id} lead=AGENT worker=AGENT"
        )
    if state == "Completed":
        raise WrongUse(f'{now.id} is completed with a summary: folkmoot work complete {now.id} --summary "…"')
    return (WorkSessionChanged(state, reason),)


@_change
def completed(record: WorkSession | None, summary: str, decisions: tuple[str, ...] = ()) -> Sequence[Event]:
    """The wrap-up: what came of it, and which decisions were taken; its artifacts are there already."""
    now = _there(record)
    if now.state == "Completed" and now.summary == summary:
        return ()
    _must_lead_to(now, "Completed")
    if not summary.strip():
        raise WrongUse(f"{now.id} is completed with a summary that says what came of it")
    return (WorkSessionCompleted(summary, decisions),)


@_change
def paused(record: WorkSession | None, reason: str = "") -> Sequence[Event]:
    if record and record.ended:
        raise over(record)
    return () if record and record.paused else (WorkSessionPaused(reason),)


def resumed(record: WorkSession | None) -> Sequence[Event]:
    if record and record.paused:
        return (WorkSessionResumed(),)
    if record and record.ended:
        raise over(record)
    return ()


def entrusted(record: WorkSession | None) -> Sequence[Event]:
    """To whoever serves the project; said again when somebody wants it to go on."""
    _going(record)
    return (WorkSessionEntrusted(),)


@_change
def labelled(record: WorkSession | None, label: str) -> Sequence[Event]:
    return () if record and record.label == label else (WorkSessionLabelled(label),)


@_change
def categorised(record: WorkSession | None, category: CategoryId) -> Sequence[Event]:
    known_category(category)
    return () if record and record.category == category else (WorkSessionCategorised(category),)


def known_category(name: str) -> CategoryId:
    """Raises `WrongUse` for one that is none of the ten."""
    for category in CATEGORIES:
        if category == name:
            return category
    raise NotFound(
        f"there is no category {name!r}; they are {', '.join(CATEGORIES)}", code="category_not_found"
    )


@_change
def added(record: WorkSession | None, artifact: WorkSessionArtifactAdded) -> Sequence[Event]:
    there = {(each.artifact, each.kind, each.title) for each in record.artifacts} if record else set()
    return () if (artifact.artifact, artifact.kind, artifact.title) in there else (artifact,)


@_change
def taken(record: WorkSession | None, snapshot: SnapshotCreated) -> Sequence[Event]:
    """A snapshot, numbered here; the same one counts once."""
    before = _there(record).snapshots
    if any(each.id == snapshot.snapshot for each in before):
        return ()
    return (replace(snapshot, sequence=len(before) + 1),)


def _there(record: WorkSession | None) -> WorkSession:
    if record is None:
        raise NotFound(
            "there is no such work session; `folkmoot work list` shows those that are",
            code="work_session_not_found",
        )
    return record


def _going(record: WorkSession | None) -> WorkSession:
    now = _there(record)
    if now.ended:
        raise over(now)
    return now


def over(now: WorkSession) -> WrongUse:
    return WrongUse(
        f'work session {now.id} is {now.state}; open another: folkmoot work open "…" --previous {now.id}'
    )


def _must_lead_to(now: WorkSession, wanted: WorkState) -> None:
    if wanted in NEXT[now.state]:
        return
    if now.ended:
        raise over(now)
    ways = " or ".join(NEXT[now.state])
    raise WrongUse(f"work session {now.id} is {now.state}; it cannot become {wanted} now, only {ways}")


def require_going(record: WorkSession) -> None:
    """Raises `WrongUse` for one that is paused or over."""
    if record.ended:
        raise over(record)
    if record.paused:
        why = f" ({record.pause_reason})" if record.pause_reason else ""
        raise WrongUse(
            f"work session {record.id} is paused{why}: no run starts in it; folkmoot work resume {record.id}"
        )


def constraints_of(record: WorkSession) -> tuple[Block, ...]:
    """What every agent is told that runs in a work session: a person set its constraints, so they taint nothing."""
    said = "\n".join(
        ("Whatever you plan, decide or do must keep to:", *(f"- {each}" for each in record.constraints))
    )
    return (Block("constraints", said),) if record.constraints else ()


def continued(id: str, record: WorkSession | None, goal: str) -> WorkSessionOpened:
    """The work session that goes on with one that was archived."""
    if record is None:
        return WorkSessionOpened(goal, previous=id)
    return WorkSessionOpened(record.goal or goal, record.label, record.constraints, previous=id)


async def is_archived(journal: Journal, id: str, now: str) -> bool:
    """Reads only what happened within the last day, unless nothing of it did; one that is new is not archived."""
    async for entry in journal.read(Query(newest_first=True)):
        draft = entry.draft
        if draft.work_session_id == id and counts(draft):
            return activity(draft, now) == "ARCHIVED"
        if seconds_between(draft.ts, now) > ARCHIVED_AFTER:
            return await _is_known(journal, id)
    return False


async def _is_known(journal: Journal, id: str) -> bool:
    if await journal.runs(RunQuery(work_session=id, limit=1)):
        return True
    return bool([entry async for entry in journal.read(Query(stream=id, limit=1))])


class WorkSessions(RecordStore[WorkSession]):
    """`get` refuses also one that began with a plain run and of which nobody said anything yet."""

    def __init__(self, journal: Journal, clock: Clock, graph: Graph) -> None:
        super().__init__(WORK_SESSION, journal, clock)
        self._graph = graph

    async def open(
        self,
        opening: WorkSessionOpened,
        author: Author = Author(),
        *,
        chance: str = "",
        team: Roster | None = None,
    ) -> WorkSession:
        """`chance` is drawn by whoever makes no call."""
        if not author.is_agent and not chance:
            raise WrongUse("a work session that no call opens needs a `chance`, from which its id is made")
        id = own_work_session(author.new_id("", chance))
        return await self.change(id, opened(opening, team), author)

    async def change(self, id: str, decided: Decide[WorkSession], author: Author = Author()) -> WorkSession:
        """`decided` is one of this module: `becoming("Planning")`, `paused()`, `completed("…")`, …"""
        if not id.startswith(WORK_SESSION.prefix):
            raise WrongUse(f"{id!r} is no id of a work session: they begin with {WORK_SESSION.prefix}")
        return await self.write(id, author, decided, work_session=id)

    async def form(
        self, id: str, wanted: Sequence[Seat], author: Author = Author(), name: str = ""
    ) -> WorkSession:
        """Put a team together from the agents of the project. Raises `WrongUse` if nobody fits a seat."""
        team = compose([self._canonical(seat) for seat in wanted], self._graph.agents.values(), name)
        return await self.change(id, formed(replace(team, id=f"team_{id}")), author)

    def _canonical(self, seat: Seat) -> Seat:
        """With tools of ours by their own names."""
        if seat.policy.tools is None:
            return seat
        tools = tuple(map(self._graph.tool_name, seat.policy.tools))
        return replace(seat, policy=replace(seat.policy, tools=tools))

    async def add_artifact(
        self, id: str, kind: ArtifactKind, title: str, content: bytes, author: Author = Author()
    ) -> WorkSession:
        """The same one counts once."""
        artifact = WorkSessionArtifactAdded(self._journal.keep(content), kind, title)
        return await self.change(id, added(artifact), author)

    async def snapshot(
        self, id: str, reason: SnapshotReason, plan: str = "", step: str = "", state: Mapping[str, Any] = {}
    ) -> WorkSession:
        """Keep how things stand, for good; the same milestone in the same `state` counts once."""
        record = await self.get(id)
        given = {"reason": reason, "plan": plan, "step": step, "state": state}
        about = {name: value for name, value in given.items() if value}
        name = "snap_" + sha256(msgspec.json.encode((id, about), order="deterministic")).hexdigest()[:20]
        kept = {
            "snapshotId": name,
            "workSessionId": id,
            **about,
            "workSession": replace(record, snapshots=()),
        }
        artifact = self._journal.keep(msgspec.json.encode(kept))
        created = SnapshotCreated(name, artifact, agent_role="", plan=plan, reason=reason, step=step)
        return await self.change(id, taken(created), Author(RUNTIME))

    async def require(self, id: str, agent: str, action: Action, author: Author = Author(RUNTIME)) -> None:
        """Raises `WrongUse` if the team of this work session does not let an agent do this; that is recorded."""
        record = await self.look_up(id)
        if record and (why := refusal(record, agent, action)):
            refused = WorkSessionRefused(agent, action, why)
            await self.change(id, lambda _: (refused,), author)
            raise WrongUse(why)

    async def join(self, errand: Errand, agent: str, request: str) -> Errand:
        """The errand of a run that is about to start, for the work session that takes it: one that is archived is gone
        on with in another, always the same.

        Raises `WrongUse` for one that is paused or over, and if the team does not let the agent do it.
        """
        id = errand.work_session
        record = await self.look_up(id)
        while await is_archived(self._journal, id, self._clock.now()):
            team = record.team if record else None
            record = await self.open(continued(id, record, request), chance=f"after {id}", team=team)
            id = record.id
        if record is None:
            return errand
        require_going(record)
        if errand.step or errand.task:
            await self.require(record.id, agent, "execute")
        policy = narrowed(errand.policy, record.team, agent)
        blocks = (*constraints_of(record), *errand.blocks)
        return replace(errand, work_session=record.id, policy=policy, blocks=blocks)
