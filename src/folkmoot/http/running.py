"""Runs that go on in this server after the request that started them was answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from folkmoot.app import Folkmoot
from folkmoot.domain.errand import Errand
from folkmoot.errors import FolkmootError, HandedOver, Held, StaleOwner
from folkmoot.views.result import Result

_log = logging.getLogger(__name__)


class Running:
    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._runs: dict[str, asyncio.Task[Result]] = {}

    def task(self, run: str) -> asyncio.Task[Result] | None:
        """A run that is under way here."""
        return self._runs.get(run)

    async def start(self, agent: str, request: str, errand: Errand, *, wait: bool = False) -> None:
        """Return when the run, which `errand` names, is durable. Raises what keeps it from starting."""
        position = await self._moot.position()
        going = self._hold(errand.run, self._moot.run(agent, request, errand=errand, wait=wait))
        await self._until_seen(errand.run, position, going)

    def resume(self, run: str, *, wait: bool = False, with_current_files: bool = False) -> None:
        """Go on with a run, unless it is under way here already."""
        if run not in self._runs:
            resumed = self._moot.resume(run, wait=wait, with_current_files=with_current_files)
            self._hold(run, resumed)

    async def close(self) -> None:
        """Leave what is under way as it is: whoever opens the project next can go on with it."""
        if self._runs:
            self._moot.hand_over()
            await asyncio.wait(self._runs.values())

    def _hold(self, run: str, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        task = self._runs[run] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda ended: self._ended(run, ended))
        return task

    def _ended(self, run: str, task: asyncio.Task[Result]) -> None:
        if self._runs.get(run) is task:
            del self._runs[run]
        error = None if task.cancelled() else task.exception()
        if error and not isinstance(error, FolkmootError):
            _log.error("run %s cannot go on here", run, exc_info=error)
        elif error and not isinstance(error, Held | StaleOwner | HandedOver):
            _log.warning("run %s cannot go on here: %s", run, error)

    async def _until_seen(self, run: str, position: int, going: asyncio.Task[Result]) -> None:
        seen = asyncio.get_running_loop().create_task(self._seen(run, position))
        try:
            await asyncio.wait((seen, going), return_when=asyncio.FIRST_COMPLETED)
        finally:
            seen.cancel()
            with suppress(asyncio.CancelledError):
                await seen
        if going.done():
            going.result()

    async def _seen(self, run: str, position: int) -> None:
        async for _ in self._moot.events(run, follow=True, after=position):
            return
