"""Who resumes runs that nobody holds: a caretaker in a journal that a single machine has, workers in a shared one.

Whose a run is says its claim alone: who comes second is told so and leaves it. So jobs, which only wake workers, may
come twice, late or never.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from folkmoot.domain.events import RunParked
from folkmoot.domain.run_row import OPEN_STATUSES, is_overdue
from folkmoot.engine.activation import RunnableProject
from folkmoot.engine.claims import WorkerOptions, held_claims
from folkmoot.engine.history import last_entry
from folkmoot.engine.local import LocalEngine
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
from folkmoot.ports import Clock, Journal, RunQuery
from folkmoot.views.result import Result

if TYPE_CHECKING:
    from folkmoot.engine.procrastinate import JobQueue
    from folkmoot.journal.postgres.journal import PostgresJournal

EVERY = 1.0
"""Seconds between looks."""
PATIENCE = 60.0
"""Seconds until a run that could not go on is tried again."""


class _Resumer:
    """Resumes single runs, and says what became of each."""

    def __init__(self, resume: Callable[[str], Awaitable[Result]], patience: float) -> None:
        """`patience`: seconds until a run that could not go on is tried again."""
        self._resume = resume
        self._patience = patience
        self._foreign: set[str] = set()
        """Runs that are left to whoever started them, until they are adopted."""
        self.say: Callable[[str], None] = lambda text: None
        """Told what becomes of each run."""

    async def _go_on(self, run: str) -> None:
        """A run that somebody else has by now is no affair of this process."""
        try:
            result = await self._resume(run)
            self.say(f"run {run}: {result.status}")
        except (Held, StaleOwner):
            pass
        except ForeignRun:
            await self._leave_alone(run)
        except HandedOver as left:
            self.say(str(left))
        except Exception as error:
            await self._failed(run, error)

    async def _leave_alone(self, run: str) -> None:
        if not self._foreign:
            self.say("runs of another installation are left alone; adopt them with: folkmoot journal adopt")
        self._foreign.add(run)

    async def _failed(self, run: str, error: Exception) -> None:
        said = str(error) if isinstance(error, FolkmootError) else f"{type(error).__name__}: {error}"
        self.say(f"run {run} cannot go on here, and is tried again in {self._patience:g} s: {said}")
        await self._later(run)

    async def _later(self, run: str) -> None:
        """See that it is tried again."""


class RunResumer(_Resumer):
    def __init__(self, journal: Journal, clock: Clock, resume: Callable[[str], Awaitable[Result]]) -> None:
        super().__init__(resume, PATIENCE)
        self._journal = journal
        self._clock = clock
        self._tried: dict[str, float] = {}
        """By run: when it may be tried again."""
        self.under_way: dict[str, asyncio.Task[None]] = {}

    async def work(self) -> None:
        """Look again and again, without end; what it goes on with outlives its being cancelled."""
        while True:
            with suppress(OperationFailed):  # a journal that is away may not be so at the next look
                await self.look()
            await self._clock.sleep(EVERY)

    async def look(self) -> None:
        """Take up every run that needs somebody."""
        for run in await self._forsaken():
            self.under_way[run] = asyncio.create_task(self._take_up(run))

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
        last = await last_entry(self._journal, run)
        return last is None or isinstance(last.event, RunParked)

    async def _take_up(self, run: str) -> None:
        if run not in self._foreign:
            self.say(f"goes on with run {run}")
        try:
            await self._go_on(run)
        finally:
            del self.under_way[run]

    async def _leave_alone(self, run: str) -> None:
        await super()._leave_alone(run)
        await self._later(run)

    async def _later(self, run: str) -> None:
        self._tried[run] = self._clock.monotonic() + self._patience


POLL = 2.0
"""Seconds until a worker looks for a job by itself: for those whose time has come, and for what it did not hear."""


class Worker(_Resumer):
    """Goes on with whatever runs it is woken for, as many at once as it has room for, until it is to stop."""

    def __init__(
        self,
        engine: LocalEngine,
        pinned: Callable[[bytes, str], RunnableProject],
        journal: PostgresJournal,
        queue: JobQueue,
        clock: Clock,
        shift: WorkerOptions,
    ) -> None:
        super().__init__(partial(engine.resume, project=pinned), shift.place.lease)
        self._engine = engine
        self._journal = journal
        self._queue = queue
        self._clock = clock
        self._shift = shift
        self._runs: set[asyncio.Task[None]] = set()
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

    async def _failed(self, run: str, error: Exception) -> None:
        if isinstance(error, Elsewhere):  # it used a folder after its job was made: now it goes there
            await self._wake_again(run)
        elif isinstance(error, WrongUse):
            self.say(str(error))
        else:
            await super()._failed(run, error)

    async def _later(self, run: str) -> None:
        await self._wake_again(run, self._patience)

    async def _wake_again(self, run: str, later: float = 0.0) -> None:
        with suppress(OperationFailed):  # then the sweep does it
            await self._journal.wake([run], later)

    async def _sweep_for_ever(self) -> None:
        while True:
            # Not all workers at once.
            await self._clock.sleep(self._patience / 6 * random.uniform(0.7, 1.3))
            try:
                await self._sweep()
            except OperationFailed as error:
                self.say(str(error))

    async def _sweep(self) -> None:
        await self._queue.prepare()
        await self._queue.beat(self._patience)
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
