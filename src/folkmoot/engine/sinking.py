"""Follows the journal and feeds the sinks, each at its own pace and from its own place in the journal.

Where a sink stands is recorded when it has taken a batch. So after a crash nothing is lost, and at most the last batch
comes again, with the same ids. Nothing here is in the way of a run: sinks read what is durable, and what goes wrong
with one stops neither the others nor whoever feeds them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Literal, Self

from msgspec.structs import replace

from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.sinks import STREAM, MilestoneSyncFailed, SinkMoved, SinkSettings
from folkmoot.domain.value import Value
from folkmoot.engine.history import last_position
from folkmoot.errors import Conflict, OperationFailed, SinkFailed
from folkmoot.journal.front import News
from folkmoot.ports import Clock, Journal, Query, Sink, Version

SinkPosition = Literal["start", "end"] | int


class SinkState(Value, omit_defaults=False):
    """What the journal knows about a sink."""

    seq: int = 0
    """Up to here it has taken everything."""
    kept: str = ""
    failed: str = ""
    """Why it has taken nothing since; empty while all is well."""
    version: int = 0
    """Of its stream."""


async def read_sink_state(journal: Journal, name: str) -> SinkState:
    found = SinkState()
    async for entry in journal.read(Query(stream=STREAM + name, newest_first=True)):
        found = replace(found, version=found.version or entry.run_seq)
        match entry.event:
            case SinkMoved() as moved:
                return replace(found, seq=moved.seq, kept=moved.kept)
            case MilestoneSyncFailed() as failed:
                found = replace(found, failed=found.failed or failed.error)
    return found


async def count_lag(journal: Journal, settings: SinkSettings, at: SinkState) -> int:
    """How many entries wait for a sink that stands there."""
    waiting = 0
    async for entry in journal.read(Query(types=list_event_types(settings), after=at.seq)):
        waiting += is_for_sink(settings, entry)
    return waiting


async def move_sink(journal: Journal, clock: Clock, name: str, to: SinkPosition) -> int:
    """Let a sink go on after an entry, at most the last; that entry. Whoever feeds it now gives way."""
    end = await last_position(journal)
    seq = {"start": 0, "end": end}[to] if isinstance(to, str) else min(to, end)
    at = await read_sink_state(journal, name)
    moved = Draft(clock.now(), SinkMoved(seq, at.kept))
    await journal.append(STREAM + name, Version(at.version), [moved])
    return seq


def list_event_types(settings: SinkSettings) -> tuple[str, ...]:
    return tuple(type for type in EVENTS if settings.wants(type))


def is_for_sink(settings: SinkSettings, entry: Entry) -> bool:
    return not entry.stream.startswith(STREAM) and settings.fits(entry.draft)


TRIES = 5
"""Of a batch, until it is recorded that its sink fails."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between two tries; each is twice as long as the one before."""
LONGEST_WAIT = 3_600.0
"""Seconds that a sink may ask to be left alone."""


@dataclass(frozen=True, slots=True)
class ConfiguredSink:
    """A sink, and what `folkmoot.yaml` says about it."""

    name: str
    settings: SinkSettings
    sink: Sink


class SinkFeed:
    """Of one sink."""

    def __init__(self, sinking: SinkFeeder, outlet: ConfiguredSink) -> None:
        self._journal, self._clock = sinking.journal, sinking.clock
        self._news, self._stopping, self._say = sinking.news, sinking.stopping, sinking.say
        self._name, self._settings, self._sink = outlet.name, outlet.settings, outlet.sink
        self._types = list_event_types(outlet.settings)
        self._at = SinkState()
        self._seen = 0

    async def follow(self) -> None:
        """Until it is to stop, or another process feeds this sink."""
        while not self._stopping.is_set():
            try:
                await self._begin()
                last: int | None = None
                while await self._pass_on(stay=True) and (last is None or self._seen < last):
                    if last is None and self._stopping.is_set():  # what came in meanwhile is still sent on
                        last = await last_position(self._journal)
            except Conflict:
                self._give_way()
                return
            except OperationFailed as error:
                self._say(f"sink {self._name}: {error}")
                await self._pause(LONGEST_PAUSE)

    async def catch_up(self) -> bool:
        """Whether the sink took everything that there is."""
        try:
            await self._begin()
            while taken := await self._pass_on(stay=False):
                pass
        except Conflict:
            self._give_way()
            return True
        return taken is None

    def _give_way(self) -> None:
        self._say(f"sink {self._name}: another process feeds it; this one gives way")

    async def _begin(self) -> None:
        self._at = await read_sink_state(self._journal, self._name)
        self._seen = self._at.seq

    async def _pass_on(self, *, stay: bool) -> bool | None:
        """Whether a batch was taken; None if there was none. `stay`: wait for one, and for the sink."""
        batch = await self._gathered(stay=stay)
        if not batch:
            return None
        kept = await self._taken(batch, stay=stay)
        if kept is None:
            return False
        self._at = replace(self._at, seq=batch[-1].seq, kept=kept, failed="")
        await self._note(SinkMoved(self._at.seq, kept))
        return True

    async def _gathered(self, *, stay: bool) -> list[Entry]:
        """As many as go together, or what there is some time after the first."""
        batch: list[Entry] = []
        until: float | None = None
        while True:
            told = self._news.told
            await self._read_into(batch)
            if len(batch) == self._settings.most or not stay or self._stopping.is_set():
                return batch
            if batch and until is None:
                until = self._clock.monotonic() + self._settings.pause
            if until is None:
                await self._news.wait(told)
                continue
            left = until - self._clock.monotonic()
            if left <= 0:
                return batch
            with suppress(TimeoutError):
                await self._clock.within(left, self._news.wait(told))

    async def _read_into(self, batch: list[Entry]) -> None:
        async for entry in self._journal.read(Query(types=self._types, after=self._seen)):
            self._seen = entry.seq
            if is_for_sink(self._settings, entry):
                batch.append(entry)
                if len(batch) == self._settings.most:
                    return

    async def _taken(self, batch: Sequence[Entry], *, stay: bool) -> str | None:
        """What the sink wants kept; None if it did not take the batch and there is no time to try again."""
        for attempt in count(1):
            try:
                return await self._sink.deliver(batch, self._at.kept)
            except Exception as error:  # whatever is wrong with a sink is no reason to end anything else
                failure = error if isinstance(error, SinkFailed) else SinkFailed(f"{error!r}")
            given_up = attempt >= TRIES or failure.lasting
            if given_up and not self._at.failed:
                self._say(f"sink {self._name}: {failure}")
                self._at = replace(self._at, failed=str(failure))
                await self._note(MilestoneSyncFailed(self._name, str(failure), self._at.seq))
            if self._stopping.is_set() or (given_up and not stay):
                return None
            await self._pause(compute_retry_delay(attempt, failure))
        raise AssertionError

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await self._clock.within(seconds, self._stopping.wait())

    async def _note(self, event: SinkMoved | MilestoneSyncFailed) -> None:
        """Raises `Conflict` if another process feeds this sink by now."""
        draft = Draft(self._clock.now(), event)
        await self._journal.append(STREAM + self._name, Version(self._at.version), [draft])
        self._at = replace(self._at, version=self._at.version + 1)


def compute_retry_delay(attempt: int, failure: SinkFailed) -> float:
    """Seconds: what the sink asked for, otherwise longer each time."""
    if failure.wait is not None:
        return min(max(0.001, failure.wait), LONGEST_WAIT)
    if failure.lasting:
        return LONGEST_PAUSE
    return float(min(FIRST_PAUSE * 2 ** min(attempt - 1, 10), LONGEST_PAUSE))


_PAUSE = 1.0
"""Seconds until a journal that could not be read is tried again."""


class SinkFeeder:
    """Feeds sinks beside whatever else a process does: `async with Sinking(journal, clock, outlets):`."""

    def __init__(self, journal: Journal, clock: Clock, outlets: Sequence[ConfiguredSink]) -> None:
        self.journal = journal
        self.clock = clock
        self.news = News()
        self.stopping = asyncio.Event()
        self.say: Callable[[str], None] = lambda text: None
        """Told what becomes of each sink."""
        self._outlets = outlets
        self._tasks: list[asyncio.Task[None]] = []
        self._listening: asyncio.Task[None] | None = None

    async def once(self) -> bool:
        """Send on what is durable by now; whether every sink took all of it."""
        try:
            return all(await asyncio.gather(*(SinkFeed(self, outlet).catch_up() for outlet in self._outlets)))
        finally:
            await self._close()

    async def __aenter__(self) -> Self:
        self._listening = asyncio.create_task(self._listen())
        self._tasks = [asyncio.create_task(SinkFeed(self, outlet).follow()) for outlet in self._outlets]
        return self

    async def __aexit__(self, *_: object) -> None:
        """What has come in is still sent on, if a sink takes it at once."""
        self.stop()
        await self.ended()
        if self._listening:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self._close()

    def stop(self) -> None:
        self.stopping.set()
        self.news.tell()

    async def ended(self) -> None:
        """Return when no sink is fed any more: after `stop`, or because others do it."""
        await asyncio.gather(*self._tasks)

    async def _listen(self) -> None:
        seen = await last_position(self.journal)
        self.news.tell()  # somebody may have read before the newest was there
        while True:
            with suppress(OperationFailed):  # whoever reads says so
                async for entry in self.journal.follow(seen):
                    seen = entry.seq
                    if not entry.stream.startswith(STREAM):
                        self.news.tell()
            await self.clock.sleep(_PAUSE)

    async def _close(self) -> None:
        for outlet in self._outlets:
            await outlet.sink.close()
