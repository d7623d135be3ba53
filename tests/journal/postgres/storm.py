"""PostgreSQL killed again and again while many runs write: what was promised, and what stands there afterwards."""

import asyncio

from folkmoot.domain.entry import Entry
from folkmoot.domain.settings import Storage
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.ports import Epoch, NewRun
from tests.journal.chain import check_chain
from tests.journal.contract import ENDED, draft, read, said
from tests.postgres_server import PostgresServer

RUNS = 8
BETWEEN = 200
"""Entries acknowledged between two deaths."""


class Storm:
    def __init__(self, server: PostgresServer, storage: Storage) -> None:
        self._server = server
        self._journal = PostgresJournal(storage)
        self._over = asyncio.Event()
        self._more = asyncio.Event()
        self.acknowledged: list[Entry] = []
        self.followed: list[Entry] = []
        self.entries: list[Entry] = []
        """All that stands in the journal at the end."""
        self.kills = 0

    async def rage(self, kills: int) -> None:
        """Runs write and a follower reads without a pause; the server dies in the midst of it, so many times."""
        following = asyncio.ensure_future(self._follow())
        try:
            await asyncio.gather(self._kill(kills), *(self._write(f"run-{n}") for n in range(RUNS)))
            self.acknowledged += await self._journal.append("last", NewRun("me", 600.0), [draft(ENDED)])
            await following
            self.entries = await read(self._journal)
        finally:
            following.cancel()
            await self._journal.close()

    def faults(self) -> list[str]:
        """Whatever was lost, doubled, mixed up or seen differently by somebody."""
        acknowledged = sorted(self.acknowledged, key=lambda entry: entry.seq)
        found = [*check_chain(self.entries)]
        if [entry.seq for entry in self.entries] != list(range(1, len(self.entries) + 1)):
            found.append("positions are not dense")
        if acknowledged != self.entries:
            found.append("what was acknowledged is not what stands there")
        if self.followed != self.entries:
            found.append("what was followed is not what stands there")
        return found

    async def _write(self, run: str) -> None:
        self.acknowledged += await self._journal.append(run, NewRun("me", 600.0), [draft()])
        step = 0
        while not self._over.is_set():
            step += 1
            batch = [said(f"{run} {step}"), said(f"{run} {step} again")]
            self.acknowledged += await self._journal.append(run, Epoch(1), batch)
            self._more.set()

    async def _follow(self) -> None:
        async for entry in self._journal.follow():
            self.followed.append(entry)
            if entry.event == ENDED:
                return

    async def _kill(self, kills: int) -> None:
        while self.kills < kills:
            enough = len(self.acknowledged) + BETWEEN
            while len(self.acknowledged) < enough:
                self._more.clear()
                await self._more.wait()
            await asyncio.to_thread(self._server.kill)
            await asyncio.to_thread(self._server.start)
            self.kills += 1
        self._over.set()
