"""Folds of the journal that the page keeps, so that looking again costs only what is new."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from starlette.requests import HTTPConnection

from folkmoot.app import Folkmoot
from folkmoot.errors import NotFound
from folkmoot.http.house import house_of
from folkmoot.ports import Query
from folkmoot.views.costs import Costs
from folkmoot.views.run_list import TYPES, RunList
from folkmoot.views.run_tree import RunTree

_MOST = 16
"""Runs whose steps are kept; who looks at another one next folds it anew."""


class Kept:
    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._steps: OrderedDict[str, RunTree] = OrderedDict()
        self._list = RunList()
        self._costs = Costs()
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

    async def run_list(self) -> RunList:
        async with self._reading:
            journal = self._moot.moot.journal
            async for entry in journal.read(Query(types=TYPES, after=self._list.position)):
                self._list.take(entry)
            return self._list

    async def costs(self) -> Costs:
        """Everything that was spent so far."""
        async with self._reading:
            new = Query(types=tuple(event.type for event in Costs.takes), after=self._costs.position)
            async for entry in self._moot.moot.journal.read(new):
                self._costs.fold(entry)
            return self._costs


def kept_of(connection: HTTPConnection) -> Kept:
    state = connection.app.state
    if not hasattr(state, "kept"):
        state.kept = Kept(house_of(connection).moot)
    kept: Kept = state.kept
    return kept
