"""Folds of the journal that the page keeps, so that looking again costs only what is new."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from starlette.requests import HTTPConnection

from folkmoot.app import Folkmoot
from folkmoot.errors import NotFound
from folkmoot.http.house import house_of
from folkmoot.views.run_list import RunShape
from folkmoot.views.run_tree import RunTree

_MOST = 16
"""Runs whose steps are kept; who looks at another one next folds it anew."""


_MOST_SHAPES = 500
"""Runs whose pictures are kept."""


class Kept:
    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._steps: OrderedDict[str, RunTree] = OrderedDict()
        self._shapes: OrderedDict[str, RunShape] = OrderedDict()
        self.waited = (-1, 0)
        """Where the journal was when it was counted how much waits for a person, and how much did."""
        self._reading = asyncio.Lock()
        """One at a time: nobody folds an entry twice."""

    async def steps(self, run: str) -> RunTree:
        """All of a run so far. Raises `NotFound`."""
        async with self._reading:
            steps = self._steps.pop(run, None) or RunTree()
            async for entry in self._moot.events(run, after=steps.position):
                steps.apply_entry(entry)
            if not steps.run_seq:
                raise NotFound(f"there is no run {run!r}", code="run_not_found")
            self._steps[run] = steps
            while len(self._steps) > _MOST:
                self._steps.popitem(last=False)
            return steps

    async def shape(self, run: str) -> RunShape:
        """Of a run that is listed."""
        async with self._reading:
            shape = self._shapes.pop(run, None) or RunShape()
            async for entry in self._moot.events(run, after=shape.position):
                shape.take(entry)
            self._shapes[run] = shape
            while len(self._shapes) > _MOST_SHAPES:
                self._shapes.popitem(last=False)
            return shape


def kept_of(connection: HTTPConnection) -> Kept:
    state = connection.app.state
    if not hasattr(state, "kept"):
        state.kept = Kept(house_of(connection).moot)
    kept: Kept = state.kept
    return kept
