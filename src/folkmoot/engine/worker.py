"""A worker: goes on with whatever runs it is woken for, as many at once as it has room for, until it is to stop.

A job is only a knock at the door. Whose a run is says its claim alone, so that jobs may come twice, late or never: each
worker also looks for runs that nobody goes on with.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress

from folkmoot.domain.run_row import is_overdue
from folkmoot.engine.activation import Project
from folkmoot.engine.local import LocalEngine
from folkmoot.engine.making import Shift
from folkmoot.engine.procrastinate import Queue
from folkmoot.errors import (
    Elsewhere,
    FolkmootError,
    ForeignRun,
    HandedOver,
    Held,
    OperationFailed,
    StaleOwner,
    WrongUse,
)
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.ports import Clock, RunQuery

POLL = 2.0
"""Seconds until a worker looks for a job by itself: for those whose time has come, and for what it did not hear."""


class Worker:
    def __init__(
        self,
        engine: LocalEngine,
        pinned: Callable[[bytes, str], Project],
        journal: PostgresJournal,
        queue: Queue,
        clock: Clock,
        shift: Shift,
    ) -> None:
        self._engine = engine
        self._pinned = pinned
        self._journal = journal
        self._queue = queue
        self._clock = clock
        self._shift = shift
        self._lease = shift.place.lease
        self.say: Callable[[str], None] = lambda text: None
        """Told what becomes of each run."""
        self._runs: set[asyncio.Task[None]] = set()
        self._foreign: set[str] = set()
        self._stopping = asyncio.Event()

    async def work(self) -> None:
        """Until `stop` is called and every run has ended or is left to others."""
        await self._queue.prepare(anew=self._shift.rebuild)
        await self._sweep()
        self.say(f"at {self._shift.place.label}, up to {self._shift.concurrency} runs at once")
        duties = [asyncio.ensure_future(duty) for duty in (self._take_runs(), self._sweep_for_ever())]
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait([stopping, *duties], return_when=asyncio.FIRST_COMPLETED)
            duties[0].cancel()
            await self._leave()
        finally:
            for task in (stopping, *duties):
                task.cancel()
            ended = await asyncio.gather(stopping, *duties, return_exceptions=True)
            await self._queue.close()
        for end in ended:
            if isinstance(end, Exception):
                raise end

    def stop(self) -> None:
        """Take no more runs, let calls under way end, and leave the rest to others; the second time, at once."""
        at_once = self._stopping.is_set()
        self.say("stopping at once" if at_once else f"stopping; {len(self._runs)} runs are handed over")
        self._engine.hand_over(at_once=at_once)
        self._stopping.set()

    async def _take_runs(self) -> None:
        while True:
            told = self._queue.news.told
            run = ""
            if len(self._runs) < self._shift.concurrency:
                try:
                    run = await self._queue.take()
                except OperationFailed as error:
                    self.say(str(error))
            if run:
                task = asyncio.create_task(self._go_on(run))
                self._runs.add(task)
                task.add_done_callback(self._ended)
            else:
                await self._queue.news.wait(told, POLL)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._runs.discard(task)
        self._queue.news.tell()

    async def _go_on(self, run: str) -> None:
        """A run that somebody else has by now is no affair of this worker."""
        try:
            result = await self._engine.resume(run, self._pinned)
            self.say(f"run {run}: {result.status}")
        except (Held, StaleOwner):
            pass
        except ForeignRun:
            if not self._foreign:
                self.say(
                    "runs of another installation are left alone; adopt them with: folkmoot journal adopt"
                )
            self._foreign.add(run)
        except HandedOver as left:
            self.say(str(left))
        except Elsewhere:
            await self._wake_again(
                run
            )  # the job of one that used a folder after it was made: now it goes there
        except WrongUse as error:
            self.say(str(error))
        except Exception as error:
            said = str(error) if isinstance(error, FolkmootError) else f"{type(error).__name__}: {error}"
            self.say(f"run {run} cannot go on here, and is tried again in {self._lease:g} s: {said}")
            await self._wake_again(run, self._lease)

    async def _wake_again(self, run: str, later: float = 0.0) -> None:
        with suppress(OperationFailed):  # then the sweep does it
            await self._journal.wake([run], later)

    async def _sweep_for_ever(self) -> None:
        while True:
            # Not all workers at once.
            await self._clock.sleep(self._lease / 6 * random.uniform(0.7, 1.3))
            try:
                await self._sweep()
            except OperationFailed as error:
                self.say(str(error))

    async def _sweep(self) -> None:
        await self._queue.prepare()
        await self._queue.beat(self._lease)
        parked, now = await self._journal.runs(RunQuery(statuses=("waiting",))), self._clock.now()
        overdue = [run.run for run in parked if is_overdue(run, now)]
        if runs := {*await self._queue.forsaken(), *overdue}:
            await self._journal.wake(sorted(runs))

    async def _leave(self) -> None:
        if self._runs and self._shift.grace:
            with suppress(TimeoutError):
                await self._clock.within(self._shift.grace, asyncio.wait(self._runs))
        self._engine.hand_over(at_once=True)
        if self._runs:
            await asyncio.wait(self._runs)
