"""The journal of a project folder, in SQLite: one process or several, on one machine.

Reading goes directly to the file, a page at a time; everything that writes goes through the one writer.
Leases are kept in the monotonic time of the machine, which all its processes share and no setting of the clock
changes. Even a lease that ends too early lets no two owners write, because the epoch decides that.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from folkmoot.domain.entry import Draft, Entry
from folkmoot.errors import FolkmootError, OperationFailed, WrongUse
from folkmoot.journal.codec import LIMIT, data_of, encode, hash_of
from folkmoot.journal.database import FILE, FOLDER, connect, connect_readonly, explain, make_folder
from folkmoot.journal.ledger import Body, Ledger
from folkmoot.journal.migrations import check_version, known_migrations, migrate
from folkmoot.journal.news import News
from folkmoot.journal.reader import Reader
from folkmoot.journal.writer import Job, Settled, Writer
from folkmoot.ports import Claim, Epoch, NewRun, Post, Query, Version

_POLL = 0.1
"""Seconds until a follower looks for what other processes wrote."""
_REMEMBERED = 1_000


class SqliteJournal:
    """To be used from one event loop at a time."""

    def __init__(
        self, reader: Reader, writer: Callable[[Settled], Writer] | None, monotonic: Callable[[], float]
    ) -> None:
        self._reader = reader
        self._make_writer = writer
        """Absent when the journal is only read."""
        self._writer: Writer | None = None
        self._monotonic = monotonic
        self._news = News()
        self._closed = False
        self._waiting: dict[str, bytes] = {}
        """Contents that are not durable yet, by id."""
        self._unsent: list[tuple[str, bytes]] = []
        """Those of them that the writer does not have yet. They go with the next job and cost no commit of
        their own."""
        self._durable: dict[str, None] = {}
        """The latest contents that are, so that keeping them again costs nothing."""

    @classmethod
    def open(cls, project: Path, monotonic: Callable[[], float], *, readonly: bool = False) -> Self:
        """The journal in `project/.folkmoot`, which is made unless `readonly`. `monotonic` is the machine's."""
        migrations = known_migrations()
        latest = migrations[-1].version
        if readonly:
            path = project / FOLDER / FILE
            if not path.exists() or not path.stat().st_size:
                raise WrongUse(f"there is no journal in {project}: nothing has run there yet")
            connection = connect_readonly(path)
        else:
            path = make_folder(project) / FILE
            connection = connect(path)
        try:
            if not readonly:
                migrate(connection, path, migrations)
            elif check_version(connection, path, latest) < latest:
                raise OperationFailed(
                    f"{path} is of an older release; a command that may write brings it up to date"
                )
        except (sqlite3.Error, FolkmootError) as error:
            explained = explain(error, path, connection)
            connection.close()
            raise explained from error
        return cls(Reader(connection, path), None if readonly else partial(Writer, path, latest), monotonic)

    def append(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> asyncio.Future[Sequence[Entry]]:
        """As the port says. Who is cancelled while waiting does not know whether it was written."""
        try:
            bodies = [self._body(stream, draft) for draft in drafts]
            until = self._monotonic() + expected.lease if isinstance(expected, NewRun) else 0.0
            return self._submit(lambda ledger: ledger.append(stream, expected, until, bodies))
        except FolkmootError as error:
            refused: asyncio.Future[Sequence[Entry]] = asyncio.get_running_loop().create_future()
            refused.set_exception(error)
            return refused

    def keep(self, content: bytes) -> str:
        self._check_writable()
        id = hash_of(content)
        if id not in self._waiting and id not in self._durable:
            self._waiting[id] = content
            self._unsent.append((id, content))
        return id

    async def artifact(self, id: str) -> bytes:
        waiting = self._waiting.get(id)
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

    async def renew(self, claims: Sequence[Claim], lease: float) -> None:
        until = self._monotonic() + lease
        await self._write(lambda ledger: ledger.renew(claims, until))

    async def release(self, claim: Claim) -> None:
        await self._write(lambda ledger: ledger.renew([claim], 0.0))

    async def claims(self) -> Sequence[Claim]:
        return self._reader.claims(self._monotonic())

    async def post(self, run: str, kind: str, body: str = "") -> None:
        await self._write(lambda ledger: ledger.post(run, kind, body))

    async def posts(self, runs: Sequence[str]) -> Sequence[Post]:
        return self._reader.posts(runs)

    async def take(self, post: Post) -> None:
        await self._write(lambda ledger: ledger.take(post))

    async def close(self) -> None:
        """Write what was handed over, and let go of the file."""
        if self._closed:
            return
        try:
            if self._unsent:
                await self._write(lambda ledger: None)
        finally:
            self._closed = True
            self._news.tell()
            if self._writer:
                await self._writer.close()
            self._reader.close()

    def _body(self, stream: str, draft: Draft) -> Body:
        text = encode(stream, draft)
        if len(text) <= LIMIT or len(data := data_of(draft)) <= LIMIT:
            return Body(draft, text)
        return Body(draft, text, bytes.fromhex(self.keep(data)), len(data))

    async def _write(self, work: Callable[[Ledger], Any]) -> Any:
        return await self._submit(work)

    def _submit(self, work: Callable[[Ledger], Any]) -> asyncio.Future[Any]:
        make_writer = self._check_writable()
        self._writer = self._writer or make_writer(self._settle)
        contents, self._unsent = self._unsent, []
        done = asyncio.get_running_loop().create_future()
        self._writer.submit(Job(work, contents, done))
        return done

    def _check_writable(self) -> Callable[[Settled], Writer]:
        if self._closed:
            raise OperationFailed("the journal is closed")
        if self._make_writer is None:
            raise OperationFailed("the journal was opened for reading only")
        return self._make_writer

    def _settle(self, jobs: Sequence[Job]) -> None:
        """Called in the event loop, for all jobs of a transaction at once."""
        for job in jobs:
            if job.contents:
                self._settle_contents(job)
            if job.done.done():
                continue
            if isinstance(job.outcome, FolkmootError):
                job.done.set_exception(job.outcome)
            else:
                job.done.set_result(job.outcome)
        self._news.tell()

    def _settle_contents(self, job: Job) -> None:
        if not job.written:
            self._unsent += job.contents
            return
        for id, _ in job.contents:
            del self._waiting[id]
            self._durable[id] = None
            if len(self._durable) > _REMEMBERED:
                del self._durable[next(iter(self._durable))]
