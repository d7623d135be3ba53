"""The journal of a project in PostgreSQL: any number of processes on any number of hosts.

Nothing is connected before it is needed, and everything that is survives a server that restarts: what is written or
read meanwhile waits for it, up to `PATIENCE`. Who takes a run over has watched its owner be silent for a whole lease,
by its own clock (`watch`); the epoch, checked under the same lock as everything else, decides who may write.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from operator import methodcaller
from typing import Any

from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.inbox import Item
from folkmoot.domain.read_model import RecordRow
from folkmoot.domain.run_row import RunSummary, SpendSum
from folkmoot.domain.settings import Storage
from folkmoot.errors import FolkmootError, OperationFailed
from folkmoot.journal import rows as sql
from folkmoot.journal.chain import check_stream
from folkmoot.journal.contents import Contents
from folkmoot.journal.news import News
from folkmoot.journal.postgres.ledger import Ledger
from folkmoot.journal.postgres.listener import Listener
from folkmoot.journal.postgres.reader import Reader
from folkmoot.journal.postgres.server import Server
from folkmoot.journal.postgres.tables import PostgresTables
from folkmoot.journal.postgres.watch import Watch
from folkmoot.journal.postgres.writer import Job, Writer
from folkmoot.ports import (
    Claim,
    Epoch,
    ItemQuery,
    NewRun,
    Post,
    Query,
    RecordQuery,
    RunQuery,
    SpendQuery,
    Stored,
    Swept,
    Version,
)

_POLL = 1.0
"""Seconds until a follower looks by itself."""


class PostgresJournal:
    """To be used from one event loop."""

    shared = True

    def __init__(
        self,
        storage: Storage,
        *,
        readonly: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        server = Server(storage, readonly=readonly)
        self._readonly = readonly
        self.watch = Watch(monotonic)
        self._news = News()
        self._reader = Reader(server)
        self._tables = PostgresTables(server, self._reader)
        self._writer = Writer(server, self.watch, self._settle)
        self._listener = Listener(server, self._news.tell, [server.schema])
        self._contents = Contents()
        self._closed = False

    async def installation_secret(self) -> bytes:
        return await self._reader.installation_secret()

    def append(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> asyncio.Future[Sequence[Entry]]:
        """As the port says. Who is cancelled while waiting does not know whether it was written."""
        try:
            bodies = [self._contents.body(stream, draft) for draft in drafts]
            owned = not isinstance(expected, Version)
            return self._submit(
                [stream], lambda ledger: ledger.append(stream, expected, bodies), appends=True, owned=owned
            )
        except FolkmootError as error:
            refused: asyncio.Future[Sequence[Entry]] = asyncio.get_running_loop().create_future()
            refused.set_exception(error)
            return refused

    def keep(self, content: bytes) -> str:
        self._check_writable()
        return self._contents.keep(content)

    async def artifact(self, id: str) -> bytes:
        waiting = self._contents.get(id)
        return waiting if waiting is not None else await self._reader.artifact(id)

    def read(self, query: Query) -> AsyncIterator[Entry]:
        return self._reader.read(query)

    async def follow(self, after: int = 0) -> AsyncIterator[Entry]:
        while not self._closed:
            self._listener.start()
            told = self._news.told
            async for entry in self._reader.read(Query(after=after)):
                yield entry
                after = entry.seq
                if self._closed:
                    return
            await self._news.wait(told, _POLL)

    async def claim(self, run: str, owner: str, lease: float, after: str = "") -> Claim:
        claim: Claim = await self._submit(
            [run], lambda ledger: ledger.claim(run, (owner, after), lease), owned=True
        )
        return claim

    async def renew(self, claims: Sequence[Claim], lease: float) -> frozenset[str]:
        held: frozenset[str] = await self._submit(
            [claim.run for claim in claims], lambda ledger: ledger.renew(claims, lease), owned=True
        )
        return held

    async def release(self, claim: Claim, *, wake: bool = False) -> None:
        await self._submit([claim.run], lambda ledger: ledger.release(claim, wake=wake))

    async def wake(self, runs: Sequence[str], later: float = 0.0) -> None:
        """Have a worker go on with these runs, now or after so many seconds, unless one is about to anyway."""
        await self._submit([], lambda ledger: ledger.wake(runs, later))

    async def claims(self, runs: Collection[str] | None = None) -> Sequence[Claim]:
        return await self._reader.claims(runs)

    async def runs(self, query: RunQuery) -> list[RunSummary]:
        return [*map(sql.run_of, await self._tables.select(*sql.run_select(query)))]

    async def count_runs(self, query: RunQuery) -> int:
        rows = await self._tables.select(*sql.run_select(query, count=True))
        return int(rows[0][0]) if rows else 0

    async def group_runs(self, query: RunQuery, by: Sequence[str]) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self._tables.select(*sql.group_select(query, by))]

    async def items(self, query: ItemQuery) -> list[Item]:
        return [*map(sql.item_of, await self._tables.select(*sql.item_select(query)))]

    @property
    def progress(self) -> Callable[[int, int], None]:
        return self._tables.progress

    @progress.setter
    def progress(self, told: Callable[[int, int], None]) -> None:
        self._tables.progress = told

    async def records(self, query: RecordQuery) -> list[RecordRow]:
        return [*map(sql.record_of, await self._tables.select(*sql.record_select(query)))]

    async def spend(self, query: SpendQuery) -> list[SpendSum]:
        return [*map(sql.sum_of, await self._tables.select(*sql.spend_select(query)))]

    async def rebuild(self) -> None:
        await self._tables.create()

    async def post(self, run: str, kind: str, body: str = "", *, wake: bool = True) -> None:
        await self._submit([run], lambda ledger: ledger.post(run, kind, body, wake=wake))

    async def posts(self, runs: Sequence[str]) -> Sequence[Post]:
        return await self._reader.posts(runs)

    async def take(self, post: Post) -> None:
        await self._submit([], lambda ledger: ledger.take(post))

    def stored(self, query: Query) -> AsyncIterator[Stored]:
        return self._reader.stored(query)

    async def restore(self, stream: str, entries: Sequence[Stored]) -> None:
        self._check_writable()
        check_stream(stream, entries)
        bodies = [self._contents.stored_body(entry) for entry in entries]
        await self._submit([stream], lambda ledger: ledger.restore(stream, bodies))

    async def prune(self, run: str, expected: Version, tombstone: Draft) -> int:
        self._check_writable()
        body = self._contents.body(run, tombstone)
        removed: list[int] = await self._submit([run], lambda ledger: ledger.prune(run, expected, body))
        return removed[0]

    async def sweep(self, young: float) -> Swept:
        """Looks for them without a lock, which takes long, and under the lock only at what was added since."""
        self._check_writable()
        found = await self._reader.unnamed(young)
        swept: list[Swept] = []
        for part in found.parts():
            swept += await self._submit([], methodcaller("sweep", part))
        return Swept(sum(each.artifacts for each in swept), sum(each.size for each in swept))

    async def close(self) -> None:
        """Write what was handed over, and hang up."""
        if self._closed:
            return
        try:
            if self._contents.unsent:
                await self._submit([], lambda ledger: None)
        finally:
            self._closed = True
            self._news.tell()
            await self._listener.close()
            await self._writer.close()
            await self._tables.close()
            await self._reader.close()

    def _submit(
        self,
        streams: Sequence[str],
        work: Callable[[Ledger], Any],
        *,
        appends: bool = False,
        owned: bool = False,
    ) -> asyncio.Future[Any]:
        self._check_writable()
        done = asyncio.get_running_loop().create_future()
        self._writer.submit(Job(streams, work, self._contents.hand_over(), done, appends, owned))
        return done

    def _check_writable(self) -> None:
        if self._closed:
            raise OperationFailed("the journal is closed", code="journal_unusable")
        if self._readonly:
            raise OperationFailed("the journal was opened for reading only", code="journal_unusable")

    def _settle(self, jobs: Sequence[Job]) -> None:
        """Called for all jobs of a transaction at once."""
        for job in jobs:
            self._contents.settle(job.contents, written=job.written)
            if job.done.done():
                continue
            if isinstance(job.outcome, FolkmootError):
                job.done.set_exception(job.outcome)
            else:
                job.done.set_result(job.outcome)
        self._news.tell()
