"""What models say in the runs of this server, while they say it. Never stored: whole answers are in the journal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from weakref import WeakValueDictionary

from folkmoot.domain.value import Value
from folkmoot.orchestration.invocation import TokenListeners
from folkmoot.ports import Hear

MOST_TEXTS = 200
"""Runs whose texts are remembered; the oldest are forgotten."""
WAITING = 1_000
"""Pieces that wait for a listener. A slower one misses some."""


class Delta(Value):
    """A piece of an answer."""

    run: str
    span: str
    text: str


class TokenStream:
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        """By run: what its root agent has said so far."""
        self._listeners: set[asyncio.Queue[Delta]] = set()
        self._reports: WeakValueDictionary[str, _ReportText] = WeakValueDictionary()
        """Each as long as a model speaks or somebody follows."""

    def ear(self, run: str) -> TokenListeners:
        """What a run is given that is started here."""
        self.texts[run] = ""
        while len(self.texts) > MOST_TEXTS:
            del self.texts[next(iter(self.texts))]
        return TokenListeners(partial(self.hear, run), partial(self._begin_report, run))

    def hear(self, run: str, span: str, piece: str) -> None:
        for listener in self._listeners:
            with suppress(asyncio.QueueFull):
                listener.put_nowait(Delta(run, span, piece))
        if "/" not in span and run in self.texts:
            self.texts[run] += piece

    async def listen(self) -> AsyncIterator[Delta]:
        """Everything from now on, without end."""
        pieces: asyncio.Queue[Delta] = asyncio.Queue(WAITING)
        self._listeners.add(pieces)
        try:
            while True:
                yield await pieces.get()
        finally:
            self._listeners.discard(pieces)

    async def follow_report(self, run: str) -> AsyncIterator[str]:
        """The whole report so far, whenever there is more of it or it begins again; without end."""
        report = self._report(run)
        while True:
            changed = report.changed
            yield report.text
            await changed.wait()

    def _begin_report(self, run: str) -> Hear:
        """A model begins to say the report of this run, whatever another attempt has said before."""
        report = self._report(run)
        report.text = ""
        return report.hear

    def _report(self, run: str) -> _ReportText:
        return self._reports.setdefault(run, _ReportText())


class _ReportText:
    def __init__(self) -> None:
        self.text = ""
        self.changed = asyncio.Event()

    def hear(self, piece: str) -> None:
        self.text += piece
        self.changed.set()
        self.changed = asyncio.Event()
