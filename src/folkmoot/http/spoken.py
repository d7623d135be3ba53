"""What the runs of this server will report, as far as it has been said: for clients that follow the words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from weakref import WeakValueDictionary

from folkmoot.ports import Hear


class Spoken:
    def __init__(self) -> None:
        self._runs: WeakValueDictionary[str, _Words] = WeakValueDictionary()
        """Each as long as a model speaks or somebody follows."""

    def begins(self, run: str) -> Hear:
        """A model begins to say the report of this run, whatever another attempt has said before."""
        words = self._of(run)
        words.text = ""
        return words.hear

    async def follow(self, run: str) -> AsyncIterator[str]:
        """All that was said, whenever there is more of it or it begins again; without end."""
        words = self._of(run)
        while True:
            changed = words.changed
            yield words.text
            await changed.wait()

    def _of(self, run: str) -> _Words:
        return self._runs.setdefault(run, _Words())


class _Words:
    def __init__(self) -> None:
        self.text = ""
        self.changed = asyncio.Event()

    def hear(self, piece: str) -> None:
        self.text += piece
        self.changed.set()
        self.changed = asyncio.Event()
