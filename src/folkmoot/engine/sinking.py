"""Follows the journal and feeds the sinks, each at its own pace and from its own place in the journal.

Where a sink stands is recorded when it has taken a batch. So after a crash nothing is lost, and at most the last batch
comes again, with the same ids. Nothing here is in the way of a run: sinks read what is durable, and what goes wrong
with one stops neither the others nor whoever feeds them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

from folkmoot.domain.sink_events import STREAM
from folkmoot.engine.feeding import Feed, Outlet
from folkmoot.errors import OperationFailed
from folkmoot.journal.news import News
from folkmoot.ports import Clock, Journal, Query

_PAUSE = 1.0
"""Seconds until a journal that could not be read is tried again."""


class Sinking:
    """Feeds sinks beside whatever else a process does: `async with Sinking(journal, clock, outlets):`."""

    def __init__(self, journal: Journal, clock: Clock, outlets: Sequence[Outlet]) -> None:
        self._journal = journal
        self._clock = clock
        self._news = News()
        self._stopping = asyncio.Event()
        self._outlets = outlets
        self._tasks: list[asyncio.Task[None]] = []
        self._listening: asyncio.Task[None] | None = None
        self.say: Callable[[str], None] = lambda text: None
        """Told what becomes of each sink."""

    async def once(self) -> bool:
        """Send on what is durable by now; whether every sink took all of it."""
        try:
            return all(await asyncio.gather(*(self._feed(outlet).catch_up() for outlet in self._outlets)))
        finally:
            await self._close()

    async def __aenter__(self) -> Self:
        self._listening = asyncio.create_task(self._listen())
        self._tasks = [asyncio.create_task(self._feed(outlet).follow()) for outlet in self._outlets]
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
        self._stopping.set()
        self._news.tell()

    async def ended(self) -> None:
        """Return when no sink is fed any more: after `stop`, or because others do it."""
        await asyncio.gather(*self._tasks)

    def _feed(self, outlet: Outlet) -> Feed:
        return Feed(self._journal, self._clock, outlet, self._news, self._stopping, self.say)

    async def _listen(self) -> None:
        seen = 0
        async for newest in self._journal.read(Query(newest_first=True, limit=1)):
            seen = newest.seq
        self._news.tell()  # somebody may have read before the newest was there
        while True:
            with suppress(OperationFailed):  # whoever reads says so
                async for entry in self._journal.follow(seen):
                    seen = entry.seq
                    if not entry.stream.startswith(STREAM):
                        self._news.tell()
            await self._clock.sleep(_PAUSE)

    async def _close(self) -> None:
        for outlet in self._outlets:
            await outlet.sink.close()
