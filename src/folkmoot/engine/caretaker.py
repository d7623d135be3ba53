"""Goes on with the runs of a journal that nobody goes on with: their process died, or they parked and were answered,
or nobody did for too long.

What workers are for a shared journal, it is for one that a single machine has; so it needs no queue, only a look now
and then. Whose a run is says its claim, as everywhere: who comes second is told so and leaves it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from folkmoot.domain.events import RunParked
from folkmoot.domain.run_row import OPEN_STATUSES, is_overdue
from folkmoot.engine.owner import held_claims
from folkmoot.errors import FolkmootError, ForeignRun, HandedOver, Held, OperationFailed, StaleOwner
from folkmoot.ports import Clock, Journal, Query, RunQuery
from folkmoot.views.result import Result

EVERY = 1.0
"""Seconds between looks."""
PATIENCE = 60.0
"""Seconds until a run that could not go on is tried again."""


class Caretaker:
    def __init__(self, journal: Journal, clock: Clock, resume: Callable[[str], Awaitable[Result]]) -> None:
        self._journal = journal
        self._clock = clock
        self._resume = resume
        self._tried: dict[str, float] = {}
        """By run: when it may be tried again."""
        self._foreign: set[str] = set()
        """Runs that are left to whoever started them, until they are adopted."""
        self.under_way: dict[str, asyncio.Task[None]] = {}
        self.say: Callable[[str], None] = lambda text: None
        """Told what becomes of each run."""

    async def work(self) -> None:
        """Look again and again, without end; what it goes on with outlives its being cancelled."""
        while True:
            with suppress(OperationFailed):  # a journal that is away may not be so at the next look
                await self.look()
            await self._clock.sleep(EVERY)

    async def look(self) -> None:
        """Take up every run that needs somebody."""
        for run in await self._forsaken():
            self.under_way[run] = asyncio.create_task(self._go_on(run))

    async def _forsaken(self) -> list[str]:
        now = self._clock.monotonic()
        wanted = RunQuery(statuses=OPEN_STATUSES, sort="started")
        open = {run.run: run for run in await self._journal.runs(wanted)}
        taken = {*self.under_way, *(claim.run for claim in held_claims(await self._journal.claims(open)))}
        idle = [run for run in open.values() if run.run not in taken and self._tried.get(run.run, now) <= now]
        told = {post.run for post in await self._journal.posts([run.run for run in idle])} if idle else set()
        return [
            run.run
            for run in idle
            if run.run in told or is_overdue(run, self._clock.now()) or not await self._is_parked(run.run)
        ]

    async def _is_parked(self, run: str) -> bool:
        async for last in self._journal.read(Query(stream=run, newest_first=True, limit=1)):
            return isinstance(last.event, RunParked)
        return True

    def _leave_alone(self, run: str) -> None:
        if not self._foreign:
            self.say("runs of another installation are left alone; adopt them with: folkmoot journal adopt")
        self._foreign.add(run)
        self._tried[run] = self._clock.monotonic() + PATIENCE

    async def _go_on(self, run: str) -> None:
        if run not in self._foreign:
            self.say(f"goes on with run {run}")
        try:
            result = await self._resume(run)
            self.say(f"run {run}: {result.status}")
        except (Held, StaleOwner):
            pass
        except ForeignRun:
            self._leave_alone(run)
        except HandedOver as left:
            self.say(str(left))
        except Exception as error:
            said = str(error) if isinstance(error, FolkmootError) else f"{type(error).__name__}: {error}"
            self.say(f"run {run} cannot go on here, and is tried again in {PATIENCE:g} s: {said}")
            self._tried[run] = self._clock.monotonic() + PATIENCE
        finally:
            del self.under_way[run]
