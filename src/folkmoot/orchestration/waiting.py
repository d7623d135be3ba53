"""Where the branches of a run wait for someone: until an answer comes, or nothing else is left to do."""

from __future__ import annotations

import asyncio

from folkmoot.session.parked import Parked

PATIENCE = 100
"""Rounds of the event loop in which nothing works before the run counts as waiting: so many may lie between
the end of one work and the beginning of the next."""


class WaitingRoom:
    def __init__(self, *, stay: bool = False) -> None:
        self._stay = stay
        """Never give up: somebody will answer while the process waits."""
        self._working = 0
        self._waiting: dict[asyncio.Future[None], str] = {}
        self._looking = False
        self._closed = False
        self.given_up: set[str] = set()
        """What nobody waits for any more, because everything that was left waited."""

    def working(self) -> WaitingRoom:
        """As long as this lasts, the run does more than wait."""
        return self

    def __enter__(self) -> None:
        self._working += 1

    def __exit__(self, *_: object) -> None:
        self._working -= 1
        self._look()

    def close(self) -> None:
        """From here on nothing new may begin; those who wait do so only as long as others work."""
        self._closed = True
        self._look()

    def begin(self) -> None:
        """Stands before everything that is new. Raises `Parked` if the room was closed."""
        if self._closed:
            raise Parked(())

    async def wait(self, id: str) -> None:
        """Return when `tell` is called with this id; raises `Parked` when all that is left of the run waits."""
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[told] = id
        self._look()
        try:
            await told
        finally:
            self._waiting.pop(told, None)
            self._look()

    def tell(self, id: str) -> None:
        for told, awaited in self._waiting.items():
            if awaited == id and not told.done():
                told.set_result(None)

    @property
    def _only_waits(self) -> bool:
        waiting = [told for told in self._waiting if not told.done()]
        return bool(waiting) and not self._working and (self._closed or not self._stay)

    def _look(self) -> None:
        if self._waiting and self._only_waits and not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_soon(self._look_again, PATIENCE)

    def _look_again(self, rounds: int) -> None:
        if not self._only_waits:
            self._looking = False
        elif rounds:
            asyncio.get_running_loop().call_soon(self._look_again, rounds - 1)
        else:
            self._looking = False
            self._give_up()

    def _give_up(self) -> None:
        for told, id in self._waiting.items():
            if not told.done():
                self.given_up.add(id)
                told.set_exception(Parked((id,)))
