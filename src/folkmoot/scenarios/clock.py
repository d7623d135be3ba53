"""Time for scenarios: it passes at once as soon as everybody waits for it, so that no pause is ever waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from folkmoot.engine.clock import FakeClock

_LOOK = 0.002
"""Seconds, of real time, between looks at work outside that is under way."""


class HurriedClock(FakeClock):
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
            if busy():
                await asyncio.sleep(_LOOK)
                continue
            self._sleepers = sorted(each for each in self._sleepers if not each[2].done())
            if self._sleepers:
                await self.advance(self._sleepers[0][0] - self._elapsed)
            else:
                await asyncio.sleep(_LOOK)
