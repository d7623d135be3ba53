"""The runs of a server: begun for its clients, and gone on with when their process died or somebody answered them.

In front of a shared journal it runs nothing: workers do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Self

from msgspec.structs import replace
from starlette.types import Receive

from folkmoot.app import Folkmoot
from folkmoot.domain.errand import Errand
from folkmoot.engine.claims import drawn
from folkmoot.engine.workers import Caretaker
from folkmoot.errors import HandedOver, Held, StaleOwner
from folkmoot.orchestration.invocation import Ear
from folkmoot.views.result import Result

GRACE = 10.0
"""Seconds for calls under way to end when the server stops."""


class EngineRoom:
    """`async with` it and it also looks after the runs that nobody goes on with."""

    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._clock = moot.moot.clock
        self._shared = moot.moot.journal.shared
        self._runs: dict[str, asyncio.Task[Result]] = {}
        self._caretaker = Caretaker(moot.moot.journal, self._clock, self._taken_up)
        self._looking: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._starting: dict[str, asyncio.Event] = {}
        """Runs that are not durable yet, by id."""
        self.ear: Callable[[str], Ear | None] = lambda run: None
        """By run: who listens to it."""
        self.say: Callable[[str], None] = lambda text: None
        """Told what becomes of runs that nobody asked for here, and what goes wrong with any."""

    async def __aenter__(self) -> Self:
        if not self._shared:
            self._caretaker.say = self.say
            self._looking = asyncio.create_task(self._caretaker.work())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in filter(None, (self._looking, self._watching)):
            task.cancel()
            await asyncio.wait({task})
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
        run = errand.run or drawn(self._clock).run
        errand = replace(errand, run=run)
        self._hold(run, self._moot.run(agent, request, hear=self.ear(run), wait=wait, errand=errand))
        return run

    def resume(self, run: str, *, wait: bool = False, with_current_files: bool = False) -> None:
        """Go on with a run, unless it is under way here already."""
        if run not in self._runs:
            ear, current = self.ear(run), with_current_files
            self._hold(run, self._moot.resume(run, hear=ear, wait=wait, with_current_files=current))

    def look(self) -> None:
        """Now, for runs that were answered: not only at the next look."""
        self._caretaker.nudge()

    def task(self, run: str) -> asyncio.Task[Result] | None:
        """A run that was begun or resumed here, and is under way."""
        return self._runs.get(run)

    async def attended(self, run: str, receive: Receive) -> bool:
        """Until a run has ended or waits for someone; if its client goes first it is stopped. Whether that stayed."""
        result = asyncio.create_task(self._moot.followed(run))
        gone = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait({result, gone}, return_when=asyncio.FIRST_COMPLETED)
            if stayed := result.done():
                result.result()
        finally:
            for task in (result, gone):
                task.cancel()
        if not stayed:
            await self._moot.cancel(run, "its client has gone")
        return stayed

    async def _taken_up(self, run: str) -> Result:
        return await self._moot.resume(run, hear=self.ear(run))

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


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
