"""The runs and collaborations of a server: begun for its clients, and continued when their process died, when somebody
answered them, or when the server is started anew.

In front of a shared journal it runs nothing: workers do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from msgspec.structs import replace
from starlette.types import Receive

from folkmoot.app import Folkmoot
from folkmoot.coordination.record_store import Author
from folkmoot.coordination.work_sessions import entrusted
from folkmoot.domain.errand import Errand
from folkmoot.domain.work_session import WorkSessionEntrusted
from folkmoot.engine.claims import draw_identity
from folkmoot.engine.collaboration import Collaboration
from folkmoot.engine.workers import RunResumer
from folkmoot.errors import FolkmootError, HandedOver, Held, OperationFailed, StaleOwner
from folkmoot.http.stream.event_source import run_while_connected
from folkmoot.orchestration.invocation import TokenListeners
from folkmoot.ports import Query
from folkmoot.views.result import Result

GRACE = 10.0
"""Seconds for calls under way to end when the server stops."""
PATIENCE = 60.0
"""Seconds until a collaboration that waits is looked at although nothing was recorded, or one that failed is tried
again."""


class RunManager:
    """`async with` it and it also looks after the runs that nobody goes on with."""

    def __init__(
        self, moot: Folkmoot, ear: Callable[[str], TokenListeners | None] = lambda run: None
    ) -> None:
        self._moot = moot
        self._ear = ear
        """By run: who listens to it."""
        self._clock = moot.moot.clock
        self._shared = moot.moot.journal.shared
        self._runs: dict[str, asyncio.Task[Result]] = {}
        self._caretaker = RunResumer(moot.moot.journal, self._clock, self._resumed)
        self._looking: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._starting: dict[str, asyncio.Event] = {}
        """Runs that are not durable yet, by id."""
        self.say: Callable[[str], None] = lambda text: None
        """Told what becomes of runs that nobody asked for here, and what goes wrong with any."""

    async def __aenter__(self) -> Self:
        if not self._shared:
            self._caretaker.say = self.say
            self._looking = asyncio.create_task(self._caretaker.work())
        return self

    async def __aexit__(self, *_: object) -> None:
        await _cancel_tasks(self._looking, self._watching)
        await self.close()

    async def close(self) -> None:
        """Calls under way may end; then every run is left as it is, for whoever serves or resumes it next."""
        self._moot.hand_over()
        if at_work := self._at_work():
            with suppress(TimeoutError):
                await self._clock.within(GRACE, asyncio.wait(at_work))
        self.leave_at_once()
        while at_work := self._at_work():
            await asyncio.wait(at_work)

    def leave_at_once(self) -> None:
        self._moot.hand_over(at_once=True)

    async def begin(self, agent: str, request: str, errand: Errand = Errand(), *, wait: bool = False) -> str:
        """Start a run that goes on by itself; its id, when that is durable. Raises what speaks against it."""
        if self._shared:
            return await self._moot.submit(agent, request, errand)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch_starts(await self._moot.position()))
        run = self.start(agent, request, errand, wait=wait)
        going, seen = self._runs[run], self._starting.setdefault(run, asyncio.Event())
        durable = asyncio.create_task(seen.wait())
        try:
            await asyncio.wait((durable, going), return_when=asyncio.FIRST_COMPLETED)
        finally:
            durable.cancel()
            self._starting.pop(run, None)
        if going.done():
            going.result()
        return run

    def start(self, agent: str, request: str, errand: Errand = Errand(), *, wait: bool = False) -> str:
        """The same for whoever waits for its end: what speaks against it is raised by its `task`. Not in front of a
        shared journal."""
        run = errand.run or draw_identity(self._clock).run
        errand = replace(errand, run=run)
        self._hold(run, self._moot.run(agent, request, hear=self._ear(run), wait=wait, errand=errand))
        return run

    def resume(self, run: str, *, wait: bool = False, with_current_files: bool = False) -> None:
        """Go on with a run, unless it is under way here already."""
        if run not in self._runs:
            ear, current = self._ear(run), with_current_files
            self._hold(run, self._moot.resume(run, hear=ear, wait=wait, with_current_files=current))

    def task(self, run: str) -> asyncio.Task[Result] | None:
        """A run that was begun or resumed here, and is under way."""
        return self._runs.get(run)

    async def attended(self, run: str, receive: Receive) -> None:
        """Until a run has ended or waits for someone; if its client goes first it is cancelled."""
        if await run_while_connected(receive, self._moot.followed(run)) is None:
            await self._moot.cancel(run, "its client has gone")

    async def _resumed(self, run: str) -> Result:
        return await self._moot.resume(run, hear=self._ear(run))

    async def _watch_starts(self, position: int) -> None:
        """One reader for all runs that are being started: each of a thousand would read what the others write."""
        async for entry in self._moot.events(follow=True, after=position):
            if seen := self._starting.pop(entry.stream, None):
                seen.set()
            if not self._starting:
                return

    def _hold(self, run: str, work: Coroutine[Any, Any, Result]) -> None:
        task = self._runs[run] = asyncio.create_task(work)
        task.add_done_callback(lambda ended: self._ended(run, ended))

    def _ended(self, run: str, task: asyncio.Task[Result]) -> None:
        if self._runs.get(run) is task:
            del self._runs[run]
        error = None if task.cancelled() else task.exception()
        if error and not isinstance(error, Held | StaleOwner | HandedOver):
            self.say(f"run {run} does not go on here: {error}")

    def _at_work(self) -> set[asyncio.Task[Any]]:
        return {*self._runs.values(), *self._caretaker.under_way.values()}


@dataclass
class _ActiveCollaboration:
    overruled: int
    """The position of the journal at which somebody last wanted it to continue; 0 if nobody did here."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class CollaborationRunner:
    """Carries collaborations on; the runs of their members are the run manager's, or go on with workers.

    One that waits, for a person or because it is paused or was stopped, is looked at again as soon as anything is
    recorded in its work session. `async with` it and it also resumes what was entrusted to servers before.
    """

    def __init__(self, moot: Folkmoot, runs: RunManager) -> None:
        self._moot = moot
        self._runs = runs
        self._clock = moot.moot.clock
        self._going: dict[str, _ActiveCollaboration] = {}
        self._looking: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self.say: Callable[[str], None] = lambda text: None
        """Told what goes wrong."""

    async def __aenter__(self) -> Self:
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """What is under way is left as it is."""
        await _cancel_tasks(self._looking, self._listening, *(each.task for each in self._going.values()))

    async def begin(self, id: str, author: Author = Author()) -> None:
        """Carry it on until it has ended, whoever else asks for what; also over restarts."""
        await self._moot.moot.work_sessions.change(id, entrusted, author)
        await self._resume(id, await self._moot.position())

    async def _look(self) -> None:
        """For what the last server left; a journal that is away now may not be so later."""
        try:
            async for entry in self._moot.moot.journal.read(Query(types=(WorkSessionEntrusted.type,))):
                if not (await self._moot.moot.work_sessions.get(entry.stream)).ended:
                    await self._resume(entry.stream, 0)
        except OperationFailed as error:
            self.say(f"collaborations are taken up in {PATIENCE:g} s: {error}")
            await self._clock.sleep(PATIENCE)
            await self._look()

    async def _resume(self, id: str, overruled: int) -> None:
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen(await self._moot.position()))
        if carried := self._going.get(id):
            carried.overruled = max(carried.overruled, overruled)
            carried.news.set()  # also while it is looked at: that look may have seen too little
            return
        carried = self._going[id] = _ActiveCollaboration(overruled)
        carried.task = asyncio.create_task(self._carry_on(id, carried))

    async def _listen(self, position: int) -> None:
        async for entry in self._moot.events(follow=True, after=position):
            if carried := self._going.get(entry.draft.work_session_id):
                carried.news.set()

    async def _carry_on(self, id: str, carried: _ActiveCollaboration) -> None:
        try:
            while not await self._has_ended(id, carried):
                with suppress(TimeoutError):
                    await self._clock.within(PATIENCE, carried.news.wait())
        finally:
            del self._going[id]

    async def _has_ended(self, id: str, carried: _ActiveCollaboration) -> bool:
        """Carry it on as far as it goes now."""
        collaboration = Collaboration(self._moot.moot, id, self._run, lambda move: None)
        collaboration.overruled = carried.overruled
        carried.news.clear()  # first: what comes from here on may be more than is seen
        try:
            return not (await collaboration.carry_on()).why
        except FolkmootError as error:
            self.say(f"{id} does not go on, and is tried again in {PATIENCE:g} s: {error}")
            await self._clock.sleep(PATIENCE)
            return False

    async def _run(self, agent: str, request: str, errand: Errand) -> Result:
        """To its end, however long it waits for a person; one that exists goes on by itself, or with workers."""
        begun = Query(stream=errand.run, limit=1)
        if not [entry async for entry in self._moot.moot.journal.read(begun)]:
            await self._runs.begin(agent, request, errand)
        return await self._moot.followed(errand.run, wait=True)


async def _cancel_tasks(*tasks: asyncio.Task[None] | None) -> None:
    running = [task for task in tasks if task]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
