"""Runs that go on in this server after the request that started them was answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from msgspec.structs import replace

from folkmoot.app import Folkmoot
from folkmoot.domain.errand import Errand
from folkmoot.engine.identity import drawn
from folkmoot.errors import FolkmootError, Held

_log = logging.getLogger(__name__)
_under_way: set[asyncio.Task[FolkmootError | None]] = set()


async def begin(moot: Folkmoot, agent: str, request: str, errand: Errand = Errand()) -> str:
    """The run's id, when it stands in the journal. Raises what refuses it."""
    if moot.moot.journal.shared:
        return await moot.submit(agent, request, errand)
    run, position = drawn(moot.moot.clock).run, await moot.position()
    going = _beside(run, moot.run(agent, request, errand=replace(errand, run=run)))
    seen = asyncio.ensure_future(_seen(moot, run, position))
    await asyncio.wait({going, seen}, return_when=asyncio.FIRST_COMPLETED)
    seen.cancel()
    if going.done() and (refusal := going.result()):
        raise refusal
    return run


def go_on(moot: Folkmoot, run: str) -> None:
    """Resume it beside whatever else is done."""
    _beside(run, moot.resume(run))


async def _seen(moot: Folkmoot, run: str, position: int) -> None:
    async for _ in moot.events(run, follow=True, after=position):
        return


def _beside(run: str, work: Coroutine[Any, Any, object]) -> asyncio.Task[FolkmootError | None]:
    task = asyncio.create_task(_carried(run, work))
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    return task


async def _carried(run: str, work: Coroutine[Any, Any, object]) -> FolkmootError | None:
    try:
        await work
    except Held:
        pass  # it goes on elsewhere
    except FolkmootError as error:
        _log.warning("run %s does not go on here: %s", run, error)
        return error
    return None
