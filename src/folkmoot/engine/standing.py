"""How far each sink is, as its own stream of the journal tells, and what is for it."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.sink_events import STREAM, MilestoneSyncFailed, SinkMoved
from folkmoot.domain.sinks import SinkSettings
from folkmoot.domain.value import Value
from folkmoot.ports import Clock, Journal, Query, Version

Place = Literal["start", "end"] | int


class Standing(Value, omit_defaults=False):
    """What the journal knows about a sink."""

    seq: int = 0
    """Up to here it has taken everything."""
    kept: str = ""
    failed: str = ""
    """Why it has taken nothing since; empty while all is well."""
    version: int = 0
    """Of its stream."""


async def standing(journal: Journal, name: str) -> Standing:
    found = Standing()
    async for entry in journal.read(Query(stream=STREAM + name, newest_first=True)):
        found = replace(found, version=found.version or entry.run_seq)
        match entry.event:
            case SinkMoved() as moved:
                return replace(found, seq=moved.seq, kept=moved.kept)
            case MilestoneSyncFailed() as failed:
                found = replace(found, failed=found.failed or failed.error)
    return found


async def lag(journal: Journal, settings: SinkSettings, at: Standing) -> int:
    """How many entries wait for a sink that stands there."""
    waiting = 0
    async for entry in journal.read(Query(types=types_of(settings), after=at.seq)):
        waiting += is_for(settings, entry)
    return waiting


async def move(journal: Journal, clock: Clock, name: str, to: Place) -> int:
    """Let a sink go on after an entry, at most the last; that entry. Whoever feeds it now gives way."""
    end = await end_of(journal)
    seq = {"start": 0, "end": end}[to] if isinstance(to, str) else min(to, end)
    at = await standing(journal, name)
    moved = Draft(clock.now(), SinkMoved(seq, at.kept))
    await journal.append(STREAM + name, Version(at.version), [moved])
    return seq


async def end_of(journal: Journal) -> int:
    """Its last entry."""
    newest = journal.read(Query(newest_first=True, limit=1))
    return max([entry.seq async for entry in newest], default=0)


def types_of(settings: SinkSettings) -> tuple[str, ...]:
    return tuple(type for type in EVENTS if settings.wants(type))


def is_for(settings: SinkSettings, entry: Entry) -> bool:
    return not entry.stream.startswith(STREAM) and settings.fits(entry.draft)
