"""Wrong tokens are answered ever more slowly, by address. The right one never waits, so nobody can be shut out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable

_FIRST = 0.1
_LONGEST = 3.0
_FORGOTTEN = 300.0
"""Seconds; the first and the longest wait, and how long an address stays known."""
_ADDRESSES = 1_000
_WAITING = 50
"""How many are kept waiting at once; more of them are not waited with, and told to come later."""


class Patience:
    def __init__(self, monotonic: Callable[[], float], sleep: Callable[[float], Awaitable[None]]) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._failed: OrderedDict[str, tuple[int, float]] = OrderedDict()
        """By address: how often, and when last."""
        self.waiting = 0

    async def lose(self, address: str) -> bool:
        """Wait with the answer to a wrong token; whether there was room to."""
        pause = self._pause(address)
        if self.waiting >= _WAITING:
            return False
        self.waiting += 1
        try:
            await self._sleep(pause)
        finally:
            self.waiting -= 1
        return True

    def _pause(self, address: str) -> float:
        now = self._monotonic()
        times, last = self._failed.pop(address, (0, now))
        times = 1 if now - last > _FORGOTTEN else times + 1
        self._failed[address] = (times, now)
        if len(self._failed) > _ADDRESSES:
            self._failed.popitem(last=False)
        return float(min(_FIRST * 2 ** min(times - 1, 10), _LONGEST))
