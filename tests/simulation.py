"""A world of its own for concurrent code: time is virtual, and a seed decides who goes first.

`simulate(seed, main)` runs `main(world)` in an event loop that runs one ready callback at a time, drawn by the seed, and
lets time pass only when nothing else can happen. The same seed gives the same order, so a race that a seed finds stays
found. Nothing in it sleeps, no thread is started, and waiting for what can never come is an error, not a hang.
"""

import asyncio
import heapq
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from folkmoot import MemoryJournal
from folkmoot.domain.entry import Draft, Entry
from folkmoot.ports import Epoch, NewRun, Query, Version

T = TypeVar("T")
START = datetime(2026, 1, 1, tzinfo=UTC)


class Deadlock(AssertionError):
    """Everybody waits, and nothing is left that could wake anyone."""


class SimulatedLoop(asyncio.BaseEventLoop):
    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance
        self._elapsed = 0.0

    def time(self) -> float:
        return self._elapsed

    def _run_once(self) -> None:
        """As in the real loop, but one callback at a time, and not the one that came first."""
        if not self._ready and not self._stopping:
            if not self._scheduled:
                raise Deadlock("everybody waits for somebody else")
            self._elapsed = max(self._elapsed, self._scheduled[0].when())
        while self._scheduled and self._scheduled[0].when() <= self._elapsed:
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False
            self._ready.append(timer)
        if self._ready:
            drawn = self._chance.randrange(len(self._ready))
            handle = self._ready[drawn]
            del self._ready[drawn]
            if not handle.cancelled():
                handle._run()

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It stays where it is until its time has come: only the real loop counts them."""

    def _process_events(self, event_list: list[Any]) -> None:
        raise AssertionError("there are no files and sockets in here")

    def _write_to_self(self) -> None:
        """Nobody needs to be woken: there is one thread."""


class SimulatedClock:
    """The clock port in virtual time. The wall clock can be set; the monotonic one cannot."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self._set = timedelta()

    def now(self) -> str:
        wall = START + timedelta(seconds=self._loop.time()) + self._set
        return wall.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        return self._loop.time()

    def readings(self) -> tuple[float, float]:
        return self._loop.time(), datetime.fromisoformat(self.now()).timestamp()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def within(self, seconds: float, work: Awaitable[T]) -> T:
        async with asyncio.timeout(seconds or None):
            return await work

    def jump(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self._set += timedelta(seconds=seconds)


class SlowJournal(MemoryJournal):
    """The reference journal as a disk or a network makes it: between asking and having, others get their turn."""

    def __init__(self, clock: SimulatedClock, chance: random.Random) -> None:
        super().__init__(clock.monotonic)
        self._chance = chance

    def append(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> asyncio.Future[Sequence[Entry]]:
        return asyncio.ensure_future(self._appended(stream, expected, drafts))

    async def _appended(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> Sequence[Entry]:
        await self.wait()
        entries = await super().append(stream, expected, drafts)
        await self.wait()
        return entries

    async def read(self, query: Query) -> AsyncIterator[Entry]:
        await self.wait()
        async for entry in super().read(query):
            yield entry
        await self.wait()

    async def wait(self) -> None:
        for _ in range(self._chance.randrange(4)):
            await asyncio.sleep(0)


class World:
    """What a simulated program finds around it."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.loop = SimulatedLoop(self.chance)
        self.clock = SimulatedClock(self.loop)
        self.journal = SlowJournal(self.clock, self.chance)


def simulate(seed: int, main: Callable[[World], Coroutine[Any, Any, T]]) -> T:
    """What `main` returns, in the order of events that belongs to this seed; nothing that it started stays behind."""
    world = World(seed)
    try:
        return world.loop.run_until_complete(main(world))
    finally:
        left = asyncio.all_tasks(world.loop)
        for task in left:
            task.cancel()
        world.loop.run_until_complete(_ended(left))
        world.loop.close()


async def _ended(tasks: Iterable[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


def found_by(seeds: Sequence[int], main: Callable[[World], Coroutine[Any, Any, bool]]) -> list[int]:
    """The seeds under which `main` says that things went wrong."""
    return [seed for seed in seeds if simulate(seed, main)]
