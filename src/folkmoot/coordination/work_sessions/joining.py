"""Which work session a new run belongs to: the one that it was started for, or the one that goes on with it."""

from __future__ import annotations

from folkmoot.coordination.work_sessions.decide import over
from folkmoot.domain.duration import seconds_between
from folkmoot.domain.errand import Block
from folkmoot.domain.work_session import ARCHIVED_AFTER, WorkSession, WorkSessionOpened, activity, counts
from folkmoot.errors import WrongUse
from folkmoot.ports import Journal, Query, RunQuery


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
