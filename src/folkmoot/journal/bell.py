"""The way from the writer's thread back to the event loop.

A pipe that the loop listens to. `call_soon_threadsafe` would do the same for 25 µs more CPU, measured with a
commit between two rings.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable


class Bell:
    def __init__(self, answer: Callable[[], None]) -> None:
        self._answer = answer
        self._hear, self._pull = os.pipe()
        os.set_blocking(self._hear, False)
        self._loop: asyncio.AbstractEventLoop | None = None

    def listen(self) -> None:
        """Have it answered in the running event loop from now on."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._forget_loop()
            loop.add_reader(self._hear, self._heard)
            self._loop = loop

    def ring(self) -> None:
        """From any thread."""
        os.write(self._pull, b"!")

    def close(self) -> None:
        """Answer what was rung until now; nobody may ring any more."""
        self._heard()
        self._forget_loop()
        os.close(self._hear)
        os.close(self._pull)

    def _heard(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._hear, 4096)
        self._answer()

    def _forget_loop(self) -> None:
        if self._loop and not self._loop.is_closed():
            self._loop.remove_reader(self._hear)
        self._loop = None
