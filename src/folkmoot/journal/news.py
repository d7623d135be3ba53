"""Wakes whoever waits for the next entry. For one event loop; it tells that there is something, not what."""

from __future__ import annotations

import asyncio


class News:
    def __init__(self) -> None:
        self.told = 0
        """Look at it before reading; if it has moved by the time of waiting, there is something to read."""
        self._waiting: dict[asyncio.Future[None], None] = {}
        """In the order in which they came, which a set would leave to chance."""

    def tell(self) -> None:
        self.told += 1
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def wait(self, told: int, seconds: float | None = None) -> None:
        """Return when more was told than `told`, or after some time."""
        if self.told != told:
            return
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[waiting] = None
        try:
            await asyncio.wait([waiting], timeout=seconds)
        finally:
            del self._waiting[waiting]
