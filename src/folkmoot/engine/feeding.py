"""Feeds one sink: gathers a batch, has the sink take it, and records how far that is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from msgspec.structs import replace

from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.sink_events import STREAM, MilestoneSyncFailed, SinkMoved
from folkmoot.domain.sinks import SinkSettings
from folkmoot.engine.standing import Standing, is_for, standing, types_of
from folkmoot.errors import Conflict, OperationFailed, SinkFailed
from folkmoot.journal.news import News
from folkmoot.ports import Clock, Journal, Query, Sink, Version

TRIES = 5
"""Of a batch, until it is recorded that its sink fails."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between two tries; each is twice as long as the one before."""
LONGEST_WAIT = 3_600.0
"""Seconds that a sink may ask to be left alone."""


@dataclass(frozen=True, slots=True)
class Outlet:
    """A sink, and what `folkmoot.yaml` says about it."""

    name: str
    settings: SinkSettings
    sink: Sink


class Feed:
    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        outlet: Outlet,
        news: News,
        stopping: asyncio.Event,
        say: Callable[[str], None],
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._settings = outlet.settings
        self._sink = outlet.sink
        self._name = outlet.name
        self._news = news
        self._stopping = stopping
        self._say = say
        self._types = types_of(outlet.settings)
        self._at = Standing()
        self._seen = 0

    async def follow(self) -> None:
        """Until it is to stop, or another process feeds this sink."""
        while not self._stopping.is_set():
            try:
                await self._begin()
                last: int | None = None
                while await self._pass_on(stay=True) and (last is None or self._seen < last):
                    if last is None and self._stopping.is_set():
                        last = await self._newest()  # what came in while that batch was sent is still sent on
            except Conflict:
                self._say(f"sink {self._name}: another process feeds it; this one gives way")
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
            self._say(f"sink {self._name}: another process feeds it; this one gives way")
            return True
        return taken is None

    async def _begin(self) -> None:
        self._at = await standing(self._journal, self._name)
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
            if is_for(self._settings, entry):
                batch.append(entry)
                if len(batch) == self._settings.most:
                    return

    async def _newest(self) -> int:
        newest = [entry async for entry in self._journal.read(Query(newest_first=True, limit=1))]
        return newest[0].seq if newest else 0

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
            await self._pause(pause_after(attempt, failure))
        raise AssertionError

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await self._clock.within(seconds, self._stopping.wait())

    async def _note(self, event: SinkMoved | MilestoneSyncFailed) -> None:
        """Raises `Conflict` if another process feeds this sink by now."""
        draft = Draft(self._clock.now(), event)
        await self._journal.append(STREAM + self._name, Version(self._at.version), [draft])
        self._at = replace(self._at, version=self._at.version + 1)


def pause_after(attempt: int, failure: SinkFailed) -> float:
    """Seconds: what the sink asked for, otherwise longer each time."""
    if failure.wait is not None:
        return min(max(0.001, failure.wait), LONGEST_WAIT)
    if failure.lasting:
        return LONGEST_PAUSE
    return float(min(FIRST_PAUSE * 2 ** min(attempt - 1, 10), LONGEST_PAUSE))
