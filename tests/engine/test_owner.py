"""Who works on a record alone."""

import asyncio

import pytest

from folkmoot.engine.claims import lock_record
from folkmoot.engine.clock import SystemClock
from folkmoot.journal.sqlite import MemoryJournal
from folkmoot.ports import NewRun
from tests.journal.contract import draft


class SlowJournal(MemoryJournal):
    """Has claimed a record some time before it says so."""

    def __init__(self) -> None:
        super().__init__()
        self.claimed, self.answers = asyncio.Event(), asyncio.Event()

    async def claim(self, *arguments, **options):
        claim = await super().claim(*arguments, **options)
        self.claimed.set()
        await self.answers.wait()
        return claim


async def test_who_is_cancelled_while_it_claims_a_record_lets_go_of_it():
    """D-27: a server that is stopped just then would keep the next one out for a whole lease."""
    journal = SlowJournal()
    await journal.append("ws_1", NewRun("", 30.0), [draft()])

    async def work() -> None:
        async with lock_record(journal, SystemClock(), "ws_1"):
            raise AssertionError

    working = asyncio.create_task(work())
    await journal.claimed.wait()
    working.cancel()
    journal.answers.set()
    with pytest.raises(asyncio.CancelledError):
        await working

    assert [claim.live for claim in await journal.claims(["ws_1"])] == [False]
