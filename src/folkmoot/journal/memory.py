"""The journal in memory: an SQLite database that nothing outlives, read and written in the event loop alone."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from folkmoot.journal.artifacts import Unnamed, store_row, unnamed
from folkmoot.journal.contents import Contents
from folkmoot.journal.database import known_migrations, statements_of
from folkmoot.journal.front import Job, JournalFront, Settled
from folkmoot.journal.ledger import Ledger
from folkmoot.journal.reader import Reader
from folkmoot.journal.tables import StoredTables

_NOWHERE = Path(":memory:")


class MemoryJournal(JournalFront):
    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        for migration in known_migrations():
            for statement in statements_of(migration.script):
                connection.execute(statement)
        ledger = Ledger(connection, _NOWHERE, monotonic)
        self._tables = StoredTables(connection, _NOWHERE)
        super().__init__(
            _MemoryReader(connection, _NOWHERE, monotonic, monotonic),
            lambda settled: _MemoryWriter(connection, ledger, monotonic, settled),
            Contents(monotonic),
        )

    async def select(self, statement: str, values: Sequence[object]) -> list[Any]:
        if self._tables.position is None:
            self._tables.create()
        self._tables.catch_up()
        return await self._tables.select(statement, values)

    async def rebuild(self) -> None:
        self._tables.create()


class _MemoryReader(Reader):
    async def unnamed(self, young: float) -> Unnamed:
        return unnamed(self._connection, self.path, self._wall() - young)


class _MemoryWriter:
    def __init__(
        self, connection: sqlite3.Connection, ledger: Ledger, clock: Callable[[], float], settled: Settled
    ) -> None:
        self._connection = connection
        self._ledger = ledger
        self._clock = clock
        self._settled = settled

    def submit(self, job: Job) -> None:
        self._connection.execute("BEGIN")
        try:
            self._ledger.begin()
            for id, content in job.contents:
                store_row(self._connection, id, content, self._clock())
            job.perform(self._ledger)
            self._ledger.flush()
        finally:
            self._connection.execute("COMMIT")
        job.written = True
        self._settled([job])

    async def close(self) -> None:
        pass
