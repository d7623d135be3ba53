"""One process at a time is at work on a record: it holds a lease of it, as whoever runs a run does of that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from folkmoot.engine.holding import LEASE
from folkmoot.engine.owner import claim_run, this_process
from folkmoot.errors import OperationFailed
from folkmoot.ports import Claim, Clock, Journal


@asynccontextmanager
async def alone(journal: Journal, clock: Clock, record: str) -> AsyncIterator[None]:
    """Raises `Held` if another process is at it. It says nothing about appending: records are changed by version."""
    claim = await claim_run(journal, clock, record, this_process(), LEASE)
    renewing = asyncio.create_task(_renewed(journal, clock, claim))
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(OperationFailed):  # then the lease runs out
            await journal.release(claim)


async def _renewed(journal: Journal, clock: Clock, claim: Claim) -> None:
    while True:
        await clock.sleep(LEASE / 3)
        with suppress(OperationFailed):  # a journal that is locked or away may not be so the next time
            await journal.renew([claim], LEASE)
