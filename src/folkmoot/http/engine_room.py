"""The runs of a server: begun for its clients, and gone on with when their process died or somebody answered them.

In front of a shared journal it runs nothing: workers do.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self

from msgspec.structs import replace
from starlette.requests import Request

from folkmoot.app import Folkmoot
from folkmoot.domain.errand import Errand
from folkmoot.engine.caretaker import Caretaker
from folkmoot.engine.identity import drawn
from folkmoot.errors import HandedOver
from folkmoot.orchestration.invocation import HearSpan
from folkmoot.views.result import Result

GRACE = 10.0
"""Seconds for calls under way to end when the server stops."""


class EngineRoom:
    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._shared = moot.moot.journal.shared
        self._begun: set[asyncio.Task[Result | None]] = set()
        self.caretaker = Caretaker(moot.moot.journal, moot.moot.clock, self._resume)
        self._looking: asyncio.Task[None] | None = None
        self.hear: HearSpan | None = None
        """Told each piece of an answer of the runs that are run here."""

    async def __aenter__(self) -> Self:
        if not self._shared:
            self._looking = asyncio.create_task(self.caretaker.work())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Calls under way may end; then every run is left as it is, for whoever serves or resumes it next."""
        if self._looking:
            self._looking.cancel()
            await asyncio.wait({self._looking})
        self._moot.hand_over()
        if at_work := self._at_work():
            with suppress(TimeoutError):
                await self._moot.moot.clock.within(GRACE, asyncio.wait(at_work))
        self.leave_at_once()
        while at_work := self._at_work():
            await asyncio.wait(at_work)

    def leave_at_once(self) -> None:
        self._moot.hand_over(at_once=True)

    async def begin(self, agent: str, request: str, errand: Errand = Errand()) -> str:
        """Start a run; its id, when that is durable. Raises what speaks against it. It goes on by itself."""
        if self._shared:
            return await self._moot.submit(agent, request, errand)
        run = errand.run or drawn(self._moot.moot.clock).run
        task = asyncio.create_task(self._to_its_end(agent, request, replace(errand, run=run)))
        self._begun.add(task)
        task.add_done_callback(self._ended)
        recorded = asyncio.create_task(self._recorded(run))
        try:
            await asyncio.wait({task, recorded}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            recorded.cancel()
        if task.done() and task.exception():
            await task
        return run

    def go_on(self) -> None:
        """Look now for runs that were answered, or left by others."""
        self.caretaker.nudge()

    async def attended(self, run: str, client: Request) -> Result | None:
        """The result of a run, which is stopped if its client goes before that; then None (O-43)."""
        result = asyncio.create_task(self._moot.followed(run))
        gone = asyncio.create_task(_gone(client))
        try:
            await asyncio.wait({result, gone}, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                return result.result()
        finally:
            for task in (result, gone):
                task.cancel()
        await self._moot.cancel(run, "its client has gone")
        return None

    async def _to_its_end(self, agent: str, request: str, errand: Errand) -> Result | None:
        with suppress(HandedOver):
            return await self._moot.run(agent, request, hear=self.hear, errand=errand)
        return None

    async def _resume(self, run: str) -> Result:
        return await self._moot.resume(run, hear=self.hear)

    async def _recorded(self, run: str) -> None:
        async for _ in self._moot.events(run, follow=True):
            return

    def _ended(self, task: asyncio.Task[Result | None]) -> None:
        """What went wrong after the beginning: the run is interrupted, and the caretaker meets it again."""
        self._begun.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.caretaker.say(f"a run was left: {error}")

    def _at_work(self) -> set[asyncio.Task[Result | None] | asyncio.Task[None]]:
        return {*self._begun, *self.caretaker.under_way.values()}


async def _gone(client: Request) -> None:
    while (await client.receive())["type"] != "http.disconnect":
        pass
