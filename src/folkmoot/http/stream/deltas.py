"""What models say in the runs of this process, piece by piece: heard by whoever listens, and kept by nobody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from folkmoot.domain.value import Value
from folkmoot.orchestration.invocation import HearSpan

WAITING = 1_000
"""Pieces that wait for a listener. Who is slower misses some; the whole answer is an event of the journal."""


class Delta(Value):
    """A piece of an answer."""

    run: str
    span: str
    text: str


class Deltas:
    """Whoever starts a run gives it `hear(run)` as the ear that `Folkmoot.run` takes."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[Delta]] = set()

    def hear(self, run: str) -> HearSpan:
        def heard(span: str, piece: str) -> None:
            for listener in self._listeners:
                with suppress(asyncio.QueueFull):
                    listener.put_nowait(Delta(run, span, piece))

        return heard

    async def listen(self) -> AsyncIterator[Delta]:
        """Everything from now on, without end."""
        pieces: asyncio.Queue[Delta] = asyncio.Queue(WAITING)
        self._listeners.add(pieces)
        try:
            while True:
                yield await pieces.get()
        finally:
            self._listeners.discard(pieces)
