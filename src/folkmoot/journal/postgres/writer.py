"""Writes to a project's schema: many jobs, one transaction. Only this file commits.

What comes in while a transaction is under way is the next one. When the connection is lost in the midst of a commit,
its outcome is unknown; then the database is asked for the proof, and the jobs are begun anew only if it is not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from folkmoot.errors import FolkmootError, OperationFailed
from folkmoot.journal.postgres.ledger import Ledger, Proof
from folkmoot.journal.postgres.line import Line
from folkmoot.journal.postgres.migrations import check_version
from folkmoot.journal.postgres.server import Connection, Server

_MOST = 500
"""Jobs of one transaction."""


@dataclass(slots=True, eq=False)
class Job:
    """Something to write, and the contents that must be durable no later; `done` learns what became of it."""

    streams: Sequence[str]
    """Those that `work` looks at."""
    work: Callable[[Ledger], Any]
    contents: Sequence[tuple[str, bytes]]
    done: asyncio.Future[Any]
    outcome: Any = None
    written: bool = False
    """Whether its transaction was committed, even if the work itself was refused."""


@dataclass(slots=True)
class _Batch:
    jobs: list[Job]
    contents: dict[str, bytes] = field(default_factory=dict)
    uncertain: bool = False
    """A commit was sent, and nothing was heard of it."""
    proof: Proof | None = None


class Writer:
    def __init__(self, server: Server, settled: Callable[[Sequence[Job]], None]) -> None:
        self._line = Line(server)
        self._settled = settled
        self._ledger = Ledger(server.schema, partial(check_version, schema=server.schema, name=server.name))
        self._used: Connection | None = None
        """The connection that the ledger's memory is of."""
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
        for job in batch.jobs:
            batch.contents.update(job.contents)
        try:
            await self._line.use(partial(self._transact, batch))
        # Whatever it is, those who wait must learn of it, and a task has no caller.
        except Exception as error:
            self._used = None
            doubt = "; whether the last entries were written is unknown, reading them tells" if batch.uncertain else ""
            return OperationFailed(f"{error}{doubt}")
        return None

    async def _transact(self, batch: _Batch, connection: Connection) -> None:
        if batch.uncertain:
            if batch.proof and await _is_there(connection, batch.proof):
                return
            batch.uncertain = False
        if connection is not self._used:
            self._ledger.forget()
        self._used = None  # until this transaction has succeeded
        await self._ledger.begin(connection, [name for job in batch.jobs for name in job.streams])
        for job in batch.jobs:
            try:
                job.outcome = job.work(self._ledger)
            except FolkmootError as refusal:
                job.outcome = refusal
        batch.proof = self._ledger.proof
        batch.uncertain = True
        await self._ledger.commit(connection, list(batch.contents.items()))
        batch.uncertain = False
        self._used = connection


async def _is_there(connection: Connection, proof: Proof) -> bool:
    """Asked under the lock: the server may not have noticed yet that its client is gone, and still be committing."""
    async with connection.transaction():
        await connection.execute("SELECT 1 FROM head FOR UPDATE")
        return await (await connection.execute(*proof)).fetchone() is not None
