"""What several operations answer."""

from __future__ import annotations

from typing import Any

import msgspec

from folkmoot.domain.entry import Entry
from folkmoot.domain.events import RunStarted
from folkmoot.domain.run_row import RunRow
from folkmoot.errors import NotFound
from folkmoot.http.endpoint import Asked
from folkmoot.journal.codec import to_line
from folkmoot.ports import Query


class Recorded(msgspec.Struct, rename="camel"):
    """What was said is durable."""

    id: str
    status: str
    """What became of it."""


class RunState(msgspec.Struct, rename="camel"):
    run_id: str
    status: str


class EventDocument(msgspec.Struct, rename="camel"):
    """An entry of the journal, as it stands in an exported log."""

    seq: int
    id: str
    role: str
    run_seq: int
    type: str
    version: int
    ts: str
    run_id: str
    """Or the name of the record."""
    prev: str
    data: dict[str, Any]
    session_id: str | None = None
    span: str | None = None
    agent_id: str | None = None
    work_session_id: str | None = None
    conversation_id: str | None = None


def event_document(entry: Entry) -> msgspec.Raw:
    """An `EventDocument`, byte for byte as it is exported."""
    return msgspec.Raw(to_line(entry)[:-1])


async def require_run(asked: Asked, run_id: str) -> RunRow:
    """Raises `NotFound`, also for the name of a record that is no run."""
    if row := await asked.moot.row(run_id):
        return row
    raise NotFound(f"there is no run {run_id!r}", code="run_not_found")


async def begun_run(asked: Asked, run_id: str) -> RunStarted | None:
    """How a run of this name began, if there is one."""
    async for entry in asked.desks.journal.read(Query(stream=run_id, limit=1)):
        if isinstance(entry.event, RunStarted):
            return entry.event
    return None


def go_on(asked: Asked, run_id: str) -> None:
    """With a run that was answered; where workers do that, they know already."""
    if not asked.desks.journal.shared:
        asked.house.room.resume(run_id)
