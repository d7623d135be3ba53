"""Time for scenarios: it passes at once as soon as everybody waits for it, so that no pause is ever waited for."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from folkmoot.engine.clock import FakeClock
from folkmoot.engine.inbox import ATTEND_EVERY

_LOOK = 0.002
"""Seconds, of real time, between looks at work outside that is under way."""


class HurriedClock(FakeClock):
    async def sleep(self, seconds: float) -> None:
        """Who only looks whether others left something looks no more: in a scenario there are no others, and time
        would pass in the smallest of steps."""
        await super().sleep(math.inf if seconds == ATTEND_EVERY else seconds)

    @asynccontextmanager
    async def hurrying(self, busy: Callable[[], bool]) -> AsyncIterator[None]:
        """Time stands while something outside is `busy`: that takes the time it takes."""
        task = asyncio.create_task(self._hurry(busy))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _hurry(self, busy: Callable[[], bool]) -> None:
        while True:
            await self._settle()
            waiting = sorted(each for each in self._sleepers if not each[2].done())
            if busy() or not waiting or waiting[0][0] == math.inf:
                await asyncio.sleep(_LOOK)
                continue
            self._sleepers = waiting  # a pause that nobody waits for any more takes no time
            await self.advance(waiting[0][0] - self._elapsed)
