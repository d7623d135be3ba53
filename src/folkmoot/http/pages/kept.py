"""Folds of the journal that the page keeps, so that looking again costs only what is new."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TypeVar

from starlette.requests import HTTPConnection

from folkmoot.app import Folkmoot
from folkmoot.domain.duration import later
from folkmoot.domain.run_row import OPEN_STATUSES, RunRow, RunSummary, agents_of
from folkmoot.errors import NotFound
from folkmoot.http.house import house_of
from folkmoot.ports import RunQuery
from folkmoot.views.run_list import MOMENTS, ListedRun, Pulse, listed, pulse
from folkmoot.views.run_tree import RunTree

T = TypeVar("T")
_MOST = 64
"""Runs whose steps are kept, more than one page lists; who looks at another one next folds it anew."""
_MOST_LISTED = 500
"""Runs that have ended whose rows are kept."""


class Kept:
    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._steps: OrderedDict[str, RunTree] = OrderedDict()
        self._listed: OrderedDict[str, ListedRun] = OrderedDict()
        self.agents: set[str] = set()
        """All that ever took part in a run."""
        self._counted = (-1, "")
        self._day = pulse((), 0, "2000-01-01T00:00:00.000Z")
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
            remember(self._steps, run, steps, _MOST)
            return steps

    async def listed(self, row: RunRow, run: RunSummary, label: str, now: str) -> ListedRun:
        """A row of the list of runs; that of a run which has ended stays as it is."""
        known = self._listed.get(run.run)
        if known and (known.row, known.label) == (row, label):
            return known
        shown = listed(row, run, label, await self.steps(run.run), now)
        if not run.is_open:
            remember(self._listed, run.run, shown, _MOST_LISTED)
        return shown

    async def day(self, now: str) -> Pulse:
        """The figures of the last day, and who takes part in runs, as far as `agents` does not know it yet."""
        position = await self._moot.position()
        if (position, now[:16]) != self._counted:
            journal = self._moot.moot.journal
            open = await journal.count_runs(RunQuery(statuses=OPEN_STATUSES))
            runs = await journal.group_runs(RunQuery(since=later(now, -86_400)), (*MOMENTS, "chain"))
            chains = {run[-2] for run in runs}
            if not self.agents:
                chains = {chain for chain, _ in await journal.group_runs(RunQuery(), ("chain",))}
            self.agents |= {agent for chain in chains for agent in agents_of(chain)}
            self._day = pulse(((*run[:-2], run[-1]) for run in runs), open, now)
            self._counted = position, now[:16]
        return self._day


def remember(known: OrderedDict[str, T], run: str, value: T, most: int) -> None:
    """The oldest are forgotten."""
    known.pop(run, None)
    known[run] = value
    while len(known) > most:
        known.popitem(last=False)


def kept_of(connection: HTTPConnection) -> Kept:
    state = connection.app.state
    if not hasattr(state, "kept"):
        state.kept = Kept(house_of(connection).moot)
    kept: Kept = state.kept
    return kept
