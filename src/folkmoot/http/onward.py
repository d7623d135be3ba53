"""Runs that this server carries on: begun from the page, or gone on with because somebody answered there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from msgspec.structs import replace

from folkmoot.app import Folkmoot
from folkmoot.domain.errand import Errand
from folkmoot.domain.item import Reply
from folkmoot.engine.identity import drawn
from folkmoot.errors import FolkmootError, Held

_log = logging.getLogger(__name__)
_Carried = asyncio.Task[FolkmootError | None]


class Onward:
    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._under_way: set[_Carried] = set()
        self.heard: dict[str, str] = {}
        """By run: what its root agent says, as far as it has come. Shown, never stored."""

    async def begin(self, agent: str, request: str, errand: Errand = Errand()) -> str:
        """Start a run beside whatever else is done; its id, when it stands in the journal. Raises what refuses it."""
        moot = self._moot
        if moot.moot.journal.shared:
            return await moot.submit(agent, request, errand)
        run, position = drawn(moot.moot.clock).run, await moot.position()

        def hear(span: str, piece: str) -> None:
            if "/" not in span:
                self.heard[run] = self.heard.get(run, "") + piece

        carried = self._beside(run, moot.run(agent, request, hear=hear, errand=replace(errand, run=run)))
        recorded = asyncio.ensure_future(self._recorded(run, position))
        await asyncio.wait({carried, recorded}, return_when=asyncio.FIRST_COMPLETED)
        recorded.cancel()
        if carried.done() and (refusal := carried.result()):
            raise refusal
        return run

    async def answer(self, reply: Reply, run: str) -> None:
        """Leave what somebody said; if nobody holds the run, it goes on here."""
        await self._moot.reply(reply)
        self.go_on(run)

    def go_on(self, run: str) -> None:
        if not self._moot.moot.journal.shared:  # there, whoever leaves an answer has woken a worker
            self._beside(run, self._moot.resume(run))

    async def rest(self) -> None:
        """Return when nothing is under way any more."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def _recorded(self, run: str, position: int) -> None:
        async for _ in self._moot.events(run, follow=True, after=position):
            return

    def _beside(self, run: str, work: Coroutine[Any, Any, object]) -> _Carried:
        task = asyncio.create_task(self._carried(run, work))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _carried(self, run: str, work: Coroutine[Any, Any, object]) -> FolkmootError | None:
        try:
            await work
        except Held:
            pass  # its holder reads what was answered
        except FolkmootError as error:
            _log.warning("run %s does not go on here: %s", run, error)
            return error
        finally:
            self.heard.pop(run, None)
        return None
