"""What may happen to a work session, given what it is. Each gives a `Decide` for its keeper; pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from msgspec.structs import replace

from folkmoot.coordination.keeping import Decide
from folkmoot.domain.category import CATEGORIES, CategoryId
from folkmoot.domain.entry import Event
from folkmoot.domain.work_session import (
    NEXT,
    Roster,
    SnapshotCreated,
    WorkSession,
    WorkSessionArtifactAdded,
    WorkSessionCategorised,
    WorkSessionChanged,
    WorkSessionCompleted,
    WorkSessionEntrusted,
    WorkSessionLabelled,
    WorkSessionOpened,
    WorkSessionPaused,
    WorkSessionResumed,
    WorkSessionSummarised,
    WorkSessionTeamFormed,
    WorkState,
)
from folkmoot.errors import NotFound, WrongUse


def opened(opening: WorkSessionOpened, team: Roster | None = None) -> Decide[WorkSession]:
    """With the team that it takes over from the one before it."""

    def decide(record: WorkSession | None) -> Sequence[Event]:
        if record and record.goal:
            return ()  # by the same call, before a crash
        if not opening.goal.strip():
            raise WrongUse("a work session needs a goal: say what shall be reached")
        return (opening, *([WorkSessionTeamFormed(team)] if team else ()))

    return decide


def formed(team: Roster) -> Decide[WorkSession]:
    def decide(record: WorkSession | None) -> Sequence[Event]:
        going = _going(record)
        return () if going.team == team else (WorkSessionTeamFormed(team),)

    return decide


def becoming(state: WorkState, reason: str = "") -> Decide[WorkSession]:
    """On to another state; refused if that does not follow from where it is."""

    def decide(record: WorkSession | None) -> Sequence[Event]:
        now = _there(record)
        if state not in get_args(WorkState):
            raise NotFound(f"there is no state {state!r}; they are {', '.join(NEXT)}", code="state_not_found")
        if now.state == state:
            return ()
        if state not in NEXT[now.state]:
            raise _illegal(now, state)
        if state == "TeamFormed":
            raise WrongUse(
                f"{now.id} has no team yet; form one: folkmoot work team {now.id} lead=AGENT worker=AGENT"
            )
        if state == "Completed":
            raise WrongUse(
                f'{now.id} is completed with a summary: folkmoot work complete {now.id} --summary "…"'
            )
        return (WorkSessionChanged(state, reason),)

    return decide


def completed(summary: str, decisions: tuple[str, ...] = ()) -> Decide[WorkSession]:
    """The wrap-up: what came of it, and which decisions were taken; its artifacts are there already."""

    def decide(record: WorkSession | None) -> Sequence[Event]:
        now = _there(record)
        if now.state == "Completed" and now.summary == summary:
            return ()
        if "Completed" not in NEXT[now.state]:
            raise _illegal(now, "Completed")
        if not summary.strip():
            raise WrongUse(f"{now.id} is completed with a summary that says what came of it")
        return (WorkSessionCompleted(summary, decisions),)

    return decide


def paused(reason: str = "") -> Decide[WorkSession]:
    def decide(record: WorkSession | None) -> Sequence[Event]:
        if record and record.ended:
            raise over(record)
        return () if record and record.paused else (WorkSessionPaused(reason),)

    return decide


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


def labelled(label: str) -> Decide[WorkSession]:
    return lambda record: () if record and record.label == label else (WorkSessionLabelled(label),)


def categorised(category: CategoryId) -> Decide[WorkSession]:
    def decide(record: WorkSession | None) -> Sequence[Event]:
        known_category(category)
        return () if record and record.category == category else (WorkSessionCategorised(category),)

    return decide


def known_category(name: str) -> CategoryId:
    """Raises `WrongUse` for one that is none of the ten."""
    for category in CATEGORIES:
        if category == name:
            return category
    raise NotFound(
        f"there is no category {name!r}; they are {', '.join(CATEGORIES)}", code="category_not_found"
    )


def summarised(summary: str) -> Decide[WorkSession]:
    def decide(record: WorkSession | None) -> Sequence[Event]:
        going = _going(record)
        return () if going.summary == summary else (WorkSessionSummarised(summary),)

    return decide


def added(artifact: WorkSessionArtifactAdded) -> Decide[WorkSession]:
    def decide(record: WorkSession | None) -> Sequence[Event]:
        there = {(each.artifact, each.kind, each.title) for each in record.artifacts} if record else set()
        return () if (artifact.artifact, artifact.kind, artifact.title) in there else (artifact,)

    return decide


def taken(snapshot: SnapshotCreated) -> Decide[WorkSession]:
    """A snapshot, numbered here; the same one counts once."""

    def decide(record: WorkSession | None) -> Sequence[Event]:
        before = _there(record).snapshots
        if any(each.id == snapshot.snapshot for each in before):
            return ()
        return (replace(snapshot, sequence=len(before) + 1),)

    return decide


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


def _illegal(now: WorkSession, wanted: WorkState) -> WrongUse:
    if now.ended:
        return over(now)
    ways = " or ".join(NEXT[now.state])
    return WrongUse(f"work session {now.id} is {now.state}; it cannot become {wanted} now, only {ways}")
