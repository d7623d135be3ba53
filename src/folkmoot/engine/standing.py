"""How far each sink is, as its own stream of the journal tells, and what is for it."""

from __future__ import annotations

from msgspec.structs import replace

from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.sink_events import STREAM, MilestoneSyncFailed, SinkMoved
from folkmoot.domain.sinks import SinkSettings
from folkmoot.domain.value import Value
from folkmoot.ports import Clock, Journal, Query, Version


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


async def move(journal: Journal, clock: Clock, name: str, seq: int) -> None:
    """Let a sink go on after this entry. Whoever feeds it now gives way."""
    at = await standing(journal, name)
    moved = Draft(clock.now(), SinkMoved(seq, at.kept))
    await journal.append(STREAM + name, Version(at.version), [moved])


def types_of(settings: SinkSettings) -> tuple[str, ...]:
    return tuple(type for type in EVENTS if settings.wants(type))


def is_for(settings: SinkSettings, entry: Entry) -> bool:
    return not entry.stream.startswith(STREAM) and settings.fits(entry.draft)
