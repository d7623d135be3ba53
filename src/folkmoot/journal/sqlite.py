"""The journal of a project folder, in SQLite: one process or several, on one machine.

Reading goes directly to the file, a page at a time; everything that writes goes through the one writer.
Leases are kept in the monotonic time of the machine, which all its processes share and no setting of the clock
changes. Even a lease that ends too early lets no two owners write, because the epoch decides that.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.inbox import Item
from folkmoot.domain.read_model import RecordRow
from folkmoot.domain.run_row import RunSummary, SpendSum
from folkmoot.errors import FolkmootError, NotFound, OperationFailed
from folkmoot.journal.chain import check_stream
from folkmoot.journal.contents import Contents
from folkmoot.journal.database import FILE, FOLDER, connect, connect_readonly, explain, make_folder
from folkmoot.journal.ledger import Ledger
from folkmoot.journal.migrations import check_version, known_migrations, migrate
from folkmoot.journal.news import News
from folkmoot.journal.reader import Reader
from folkmoot.journal.sweep import unnamed
from folkmoot.journal.tables import Progress, create_tables
from folkmoot.journal.writer import Job, Settled, Writer
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

_POLL = 0.1
"""Seconds until a follower looks for what other processes wrote."""


class SqliteJournal:
    """To be used from one event loop at a time."""

    artifacts = True
    """It holds what it names."""
    shared = False

    def __init__(
        self,
        reader: Reader,
        writer: Callable[[Settled], Writer] | None,
        monotonic: Callable[[], float],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._reader = reader
        self._make_writer = writer
        """Absent when the journal is only read."""
        self._writer: Writer | None = None
        self._monotonic = monotonic
        self._news = News()
        self._closed = False
        self._wall = wall
        self._contents = Contents(monotonic)

    @classmethod
    def open(
        cls,
        project: Path,
        monotonic: Callable[[], float],
        *,
        readonly: bool = False,
        wall: Callable[[], float] = time.time,
    ) -> Self:
        """The journal in `project/.folkmoot`, which is made unless `readonly`. `monotonic` is the machine's; `wall`
        gives the Unix time, by which only the age of what is kept is told."""
        migrations = known_migrations()
        latest = migrations[-1].version
        if readonly:
            path = project / FOLDER / FILE
            if not path.exists() or not path.stat().st_size:
                raise NotFound(
                    f"there is no journal in {project}: nothing has run there yet", code="journal_not_found"
                )
            connection = connect_readonly(path)
        else:
            path = make_folder(project) / FILE
            connection = connect(path)
        try:
            if not readonly:
                migrate(connection, path, migrations)
                create_tables(connection, path.parent)
            elif check_version(connection, path, latest) < latest:
                raise OperationFailed(
                    f"{path} is of an older release; bring it up to date with: folkmoot journal adopt"
                )
        except (sqlite3.Error, FolkmootError) as error:
            explained = explain(error, path, connection)
            connection.close()
            raise explained from error
        writer = None if readonly else partial(Writer, path, latest)
        return cls(Reader(connection, path), writer, monotonic, wall)

    @classmethod
    def open_copy(cls, path: Path) -> SqliteJournal:
        """A backup, which is one file: to read from. Nobody runs what stands in it."""
        connection = connect_readonly(path)
        try:
            check_version(connection, path, known_migrations()[-1].version)
        except (sqlite3.Error, FolkmootError) as error:
            explained = explain(error, path, connection)
            connection.close()
            raise explained from error
        return cls(Reader(connection, path, is_copy=True), None, lambda: math.inf)

    async def installation_secret(self) -> bytes:
        return b""

    def append(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> asyncio.Future[Sequence[Entry]]:
        """As the port says. Who is cancelled while waiting does not know whether it was written."""
        try:
            bodies = [self._contents.body(stream, draft) for draft in drafts]
            until = self._monotonic() + expected.lease if isinstance(expected, NewRun) else 0.0
            return self._submit(lambda ledger: ledger.append(stream, expected, until, bodies))
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
            told = self._news.told
            async for entry in self._reader.read(Query(after=after)):
                yield entry
                after = entry.seq
                if self._closed:
                    return
            await self._news.wait(told, _POLL)

    async def claim(self, run: str, owner: str, lease: float, after: str = "") -> Claim:
        now = self._monotonic()
        claim: Claim = await self._write(lambda ledger: ledger.claim(run, (owner, after), now, now + lease))
        return claim

    async def renew(self, claims: Sequence[Claim], lease: float) -> frozenset[str]:
        until = self._monotonic() + lease
        held: frozenset[str] = await self._write(lambda ledger: ledger.renew(claims, until))
        return held

    async def release(self, claim: Claim, *, wake: bool = False) -> None:
        await self._write(lambda ledger: ledger.renew([claim], 0.0))

    async def claims(self, runs: Collection[str] | None = None) -> Sequence[Claim]:
        return self._reader.claims(self._monotonic(), runs)

    async def runs(self, query: RunQuery) -> list[RunSummary]:
        return (await self._reader.tables()).runs(query)

    async def count_runs(self, query: RunQuery) -> int:
        return (await self._reader.tables()).count_runs(query)

    async def group_runs(self, query: RunQuery, by: Sequence[str]) -> list[tuple[Any, ...]]:
        return (await self._reader.tables()).group_runs(query, by)

    async def items(self, query: ItemQuery) -> list[Item]:
        return (await self._reader.tables()).items(query)

    @property
    def progress(self) -> Progress:
        """Told how many entries of how many are applied to a read model that is behind."""
        return self._reader.progress

    @progress.setter
    def progress(self, told: Progress) -> None:
        self._reader.progress = told

    async def records(self, query: RecordQuery) -> list[RecordRow]:
        return (await self._reader.tables()).records(query)

    async def spend(self, query: SpendQuery) -> list[SpendSum]:
        return (await self._reader.tables()).spend(query)

    async def rebuild(self) -> None:
        await self._reader.rebuild()

    async def post(self, run: str, kind: str, body: str = "", *, wake: bool = True) -> None:
        await self._write(lambda ledger: ledger.post(run, kind, body))

    async def posts(self, runs: Sequence[str]) -> Sequence[Post]:
        return self._reader.posts(runs)

    async def take(self, post: Post) -> None:
        await self._write(lambda ledger: ledger.take(post))

    def stored(self, query: Query) -> AsyncIterator[Stored]:
        return self._reader.stored(query)

    async def restore(self, stream: str, entries: Sequence[Stored]) -> None:
        self._check_writable()
        check_stream(stream, entries)
        bodies = [self._contents.stored_body(entry) for entry in entries]
        await self._write(lambda ledger: ledger.restore(stream, bodies))

    async def prune(self, run: str, expected: Version, tombstone: Draft) -> int:
        body = self._contents.body(run, tombstone)
        removed: int = await self._write(lambda ledger: ledger.prune(run, expected, body))
        return removed

    async def sweep(self, young: float) -> Swept:
        """Looks for them without a lock, which takes long, and under the lock only at what was added since."""
        before = self._wall() - young
        path = self._reader.path
        found = await asyncio.to_thread(unnamed, path, before)
        swept: Swept = await self._write(lambda ledger: ledger.sweep(path, found, before))
        return swept

    async def close(self) -> None:
        """Write what was handed over, and let go of the file."""
        if self._closed:
            return
        try:
            if self._contents.unsent:
                await self._write(lambda ledger: None)
        finally:
            self._closed = True
            self._news.tell()
            if self._writer:
                await self._writer.close()
            self._reader.close()

    async def _write(self, work: Callable[[Ledger], Any]) -> Any:
        return await self._submit(work)

    def _submit(self, work: Callable[[Ledger], Any]) -> asyncio.Future[Any]:
        make_writer = self._check_writable()
        self._writer = self._writer or make_writer(self._settle)
        done = asyncio.get_running_loop().create_future()
        self._writer.submit(Job(work, self._contents.hand_over(), self._wall(), done))
        return done

    def _check_writable(self) -> Callable[[Settled], Writer]:
        if self._closed:
            raise OperationFailed("the journal is closed", code="journal_unusable")
        if self._make_writer is None:
            raise OperationFailed("the journal was opened for reading only", code="journal_unusable")
        return self._make_writer

    def _settle(self, jobs: Sequence[Job]) -> None:
        """Called in the event loop, for all jobs of a transaction at once."""
        for job in jobs:
            if job.contents:
                self._contents.settle(job.contents, written=job.written)
            if job.done.done():
                continue
            if isinstance(job.outcome, FolkmootError):
                job.done.set_exception(job.outcome)
            else:
                job.done.set_result(job.outcome)
        self._news.tell()
