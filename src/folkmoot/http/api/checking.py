"""The journal as a whole: whether it keeps every promise, and all of it as programs read it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response, StreamingResponse

from folkmoot.contract.folds import Fault, Guarantee
from folkmoot.contract.verify import verify
from folkmoot.http.api.shapes import require_run
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.journal.codec import to_line
from folkmoot.ports import Journal, Query, Stored

T = TypeVar("T")
_LINES = "application/x-ndjson"


class Checked(msgspec.Struct):
    title: str
    checked: str
    """What was looked at."""
    faults: int


class VerdictDocument(msgspec.Struct, rename="camel"):
    holds: bool
    checked: dict[Guarantee, Checked]
    entries: int
    runs: int
    state_hash: str | None
    faults: list[Fault]


@dataclass(frozen=True)
class _Patient:
    """A journal that is read beside all else that the server does."""

    journal: Journal

    def stored(self, query: Query) -> AsyncIterator[Stored]:
        return _in_turns(self.journal.stored(query))

    async def artifact(self, id: str) -> bytes:
        return await self.journal.artifact(id)


async def verify_journal(asked: Asked) -> dict[str, Any]:
    """The guarantees C1 to C7 on all that is recorded; nothing is run. A long journal takes its time."""
    return (await verify(_Patient(asked.desks.journal))).to_json()


async def verify_run(asked: Asked) -> dict[str, Any]:
    await require_run(asked, asked.id)
    return (await verify(_Patient(asked.desks.journal), asked.id)).to_json()


async def export_journal(asked: Asked) -> Response:
    """Every event as one line of JSON, in order, with the hashes that chain them, as `folkmoot log export`
    writes it."""
    return _exported(asked)


async def export_run(asked: Asked) -> Response:
    await require_run(asked, asked.id)
    return _exported(asked, asked.id)


def _exported(asked: Asked, run: str = "") -> Response:
    async def lines() -> AsyncIterator[bytes]:
        async for entry in _in_turns(asked.desks.journal.read(Query(stream=run))):
            yield to_line(entry)

    named = f'attachment; filename="{run or "journal"}.ndjson"'
    return StreamingResponse(lines(), 200, {"content-disposition": named}, _LINES)


async def _in_turns(read: AsyncIterator[T]) -> AsyncIterator[T]:
    """A long read in which everybody else gets a turn."""
    count = 0
    async for each in read:
        yield each
        count += 1
        if count % 100 == 0:
            await asyncio.sleep(0)


def _look(
    path: str, summary: str, handle: Any, answer: Any = Any, media: str = "application/json"
) -> Endpoint:
    return Endpoint(method="GET", path=path, summary=summary, handle=handle, answer=answer, media=(media,))


OPERATIONS = (
    _look("/verify", "Whether the journal keeps every promise", verify_journal, VerdictDocument),
    _look(
        "/runs/{id}/verify",
        "Whether what is recorded of a run keeps every promise",
        verify_run,
        VerdictDocument,
    ),
    _look("/log", "The whole journal, one line for each event", export_journal, media=_LINES),
    _look("/runs/{id}/log", "One run, one line for each event", export_run, media=_LINES),
)
