"""The clock of the machine, and one that tests turn by hand."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import sys
import time
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

T = TypeVar("T")


class SystemClock:
    def __init__(self) -> None:
        self._moment = 0
        self._written = ""

    def now(self) -> str:
        """Written out anew once a millisecond, and all but its end once a second: every event has a time, and many
        have the same."""
        moment = time.time_ns() // 1_000_000
        if moment != self._moment:
            second, rest = divmod(moment, 1_000)
            if second != self._moment // 1_000:
                self._written = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(second))
            self._written = f"{self._written[:-4]}{rest:03d}Z"
            self._moment = moment
        return self._written

    def monotonic(self) -> float:
        return time.monotonic()

    def readings(self) -> tuple[float, float]:
        return _read_boot_seconds(), time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def within(self, seconds: float, work: Awaitable[T]) -> T:
        if not seconds or seconds == math.inf:
            return await work
        async with asyncio.timeout(seconds):
            return await work


class FakeClock:
    """Time passes only in `advance`. Shipped, because users test their agents' timeouts too."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._slept = itertools.count()

    def now(self) -> str:
        return _format_time(self._start + timedelta(seconds=self._elapsed))

    def monotonic(self) -> float:
        return self._elapsed

    def readings(self) -> tuple[float, float]:
        return self._elapsed, self._start.timestamp() + self._elapsed

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._slept), woken))
        await woken

    async def within(self, seconds: float, work: Awaitable[T]) -> T:
        if not seconds or seconds == math.inf:
            return await work
        working = asyncio.ensure_future(work)
        timer = asyncio.ensure_future(self.sleep(seconds))
        try:
            await asyncio.wait({working, timer}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise TimeoutError
            return working.result()
        finally:
            working.cancel()
            timer.cancel()

    async def advance(self, seconds: float) -> None:
        """Let time pass, waking sleepers in order, those of one moment as they lay down; whatever can run, runs."""
        until = self._elapsed + seconds
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= until:
            due, _, woken = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, due)
            if not woken.done():
                woken.set_result(None)
            await self._settle()
        self._elapsed = until

    @staticmethod
    async def _settle() -> None:
        """Until nothing is left to run now. Loops that do not tell are given some rounds."""
        ready = getattr(asyncio.get_running_loop(), "_ready", (None,))
        for _ in range(100):
            await asyncio.sleep(0)
            if not ready:
                return


def _read_boot_seconds() -> float:
    """Where a system has no such clock, the monotonic one stands for it."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def _format_time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
