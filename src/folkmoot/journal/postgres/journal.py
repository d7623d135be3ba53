"""The journal of a project in PostgreSQL: any number of processes on any number of hosts.

Nothing is connected before it is needed, and everything that is survives a server that restarts: what is written or
read meanwhile waits for it, up to `PATIENCE`. Who takes a run over has watched its owner be silent for a whole lease,
by its own clock (`Watch`); the epoch, checked under the same lock as everything else, decides who may write.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from folkmoot.domain.fence import Watch
from folkmoot.domain.settings import Storage
from folkmoot.errors import FolkmootError, OperationFailed, StaleOwner
from folkmoot.journal.artifacts import Contents
from folkmoot.journal.front import Job, JournalFront, Settled
from folkmoot.journal.postgres.artifacts import keep, portions
from folkmoot.journal.postgres.ledger import Ledger
from folkmoot.journal.postgres.reader import Reader
from folkmoot.journal.postgres.server import Connection, Line, Listener, Server
from folkmoot.journal.postgres.tables import PostgresTables


class PostgresJournal(JournalFront):
    shared = True
    poll = 1.0
    _reader: Reader

    def __init__(
        self,
        storage: Storage,
        *,
        readonly: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        server = Server(storage, readonly=readonly)
        self.watch = Watch(monotonic)
        reader = Reader(server)
        writer = None if readonly else lambda settled: Writer(server, self.watch, settled)
        super().__init__(reader, writer, Contents())
        self._tables = PostgresTables(server, reader)
        self._listener = Listener(server, self._news.tell, [server.schema])

    async def installation_secret(self) -> bytes:
        return await self._reader.installation_secret()

    async def wake(self, runs: Sequence[str], later: float = 0.0) -> None:
        """Have a worker go on with these runs, now or after so many seconds, unless one is about to anyway."""
        await self._submit(lambda ledger: ledger.wake(runs, later))

    async def select(self, statement: str, values: Sequence[object]) -> list[Any]:
        return await self._tables.select(statement, values, self.progress)

    async def rebuild(self) -> None:
        await self._tables.create()

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            await self._listener.close()
            await self._tables.close()

    def _listen(self) -> None:
        self._listener.start()


_MOST = 500
"""Jobs of one transaction."""


@dataclass(slots=True)
class _Batch:
    jobs: list[Job]
    uncertain: bool = False
    """A commit was sent, and nothing was heard of it."""

    @property
    def streams(self) -> list[str]:
        return [name for job in self.jobs for name in job.streams]

    @property
    def contents(self) -> dict[str, bytes]:
        return {id: content for job in self.jobs for id, content in job.contents}


class Writer:
    def __init__(self, server: Server, watch: Watch, settled: Settled) -> None:
        self._line = Line(server)
        self._settled = settled
        self._ledger = Ledger(server, watch)
        self._waiting: list[Job] = []
        self._writing: asyncio.Task[None] | None = None

    def submit(self, job: Job) -> None:
        self._waiting.append(job)
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def close(self) -> None:
        """Write what was submitted, then end."""
        while self._writing:
            await asyncio.wait([self._writing])
        await self._line.close()

    async def _write(self) -> None:
        try:
            while self._waiting:
                jobs, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
                failure = await self._perform(_Batch(jobs))
                for job in jobs:
                    job.written = failure is None
                    if failure:
                        job.outcome = failure
                self._settled(jobs)
        finally:
            self._writing = None

    async def _perform(self, batch: _Batch) -> FolkmootError | None:
        """The error, if nothing was written or nobody knows whether it was."""
        try:
            for contents in portions(batch.contents):
                await self._line.use(partial(keep, contents))
            await self._line.use(partial(self._transact, batch))
        # Whatever it is, those who wait must learn of it, and a task has no caller.
        except Exception as error:
            self._ledger.forget()
            if batch.uncertain:
                return OperationFailed(
                    f"{error}; whether the last entries were written is unknown: read them"
                )
            return error if isinstance(error, FolkmootError) else OperationFailed(str(error))
        return None

    async def _transact(self, batch: _Batch, connection: Connection) -> None:
        """One attempt, after others that may have succeeded without anyone hearing of it."""
        quick = all(job.appends for job in batch.jobs) and self._ledger.remembers(batch.streams)
        last = await self._add(batch, connection) if quick and not batch.uncertain else None
        if last is None:
            await self._ledger.begin(connection)
            if batch.uncertain and (last := await self._ledger.find(connection)) is not None:
                self._lose(batch, await self._ledger.lost(connection, batch.streams))
            if last is None:
                batch.uncertain = False
                for contents in portions(batch.contents):  # somebody may have swept since they were sent
                    await keep(contents, connection)
                await self._ledger.look(connection, batch.streams)
                self._work(batch)
                batch.uncertain = True
                last = await self._ledger.write(connection)
            await connection.execute("COMMIT")
            batch.uncertain = False
        self._ledger.settle(last)

    def _lose(self, batch: _Batch, streams: set[str]) -> None:
        """Refuse what was written, for whoever wrote it: the epochs of these streams are others by now."""
        for job in batch.jobs:
            if job.owned and (lost := streams.intersection(job.streams)):
                named = ", ".join(map(repr, sorted(lost)))
                job.outcome = StaleOwner(
                    f"another process has claimed run {named} while the answer to a commit was lost;"
                    " what was begun is void"
                )

    async def _add(self, batch: _Batch, connection: Connection) -> int | None:
        """In one round trip; None if that cannot be. A refusal is final only if it is read under the lock."""
        if not self._work(batch):
            return None
        batch.uncertain = True
        last = await self._ledger.add(connection, batch.contents)
        batch.uncertain = False
        return last

    def _work(self, batch: _Batch) -> bool:
        """Whether nothing was refused."""
        return all([job.perform(self._ledger) for job in batch.jobs])
