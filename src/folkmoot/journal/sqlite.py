"""The journal of a project folder, in SQLite: one process or several, on one machine.

Reading goes directly to the file, a page at a time; everything that writes goes through the one writer. Leases are
kept in the monotonic time of the machine, which all its processes share and no setting of the clock changes. Even a
lease that ends too early lets no two owners write, because the epoch decides that. The journal in memory, for tests
and replays, is an SQLite database that nothing outlives.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from folkmoot.errors import FolkmootError, NotFound, OperationFailed
from folkmoot.journal.artifacts import Contents, Unnamed, store_row, unnamed
from folkmoot.journal.database import (
    FILE,
    FOLDER,
    check_version,
    connect,
    connect_readonly,
    explain,
    known_migrations,
    make_folder,
    migrate,
    statements_of,
)
from folkmoot.journal.front import Job, JournalFront, JournalWriter, Settled
from folkmoot.journal.ledger import Ledger
from folkmoot.journal.reader import Reader
from folkmoot.journal.tables import StoredTables, create_tables
from folkmoot.journal.writer import Writer


class SqliteJournal(JournalFront):
    poll = 0.1
    _reader: Reader

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
        if not readonly:
            path = make_folder(project) / FILE
            return cls._opened(path, connect(path), monotonic, wall, partial(Writer, path, monotonic, wall))
        path = project / FOLDER / FILE
        if not path.exists() or not path.stat().st_size:
            raise NotFound(
                f"there is no journal in {project}: nothing has run there yet", code="journal_not_found"
            )
        return cls._opened(path, connect_readonly(path), monotonic, wall)

    @classmethod
    def open_copy(cls, path: Path) -> Self:
        """A backup, which is one file: to read from. Nobody runs what stands in it."""
        return cls._opened(path, connect_readonly(path), lambda: math.inf, time.time, is_copy=True)

    @classmethod
    def _opened(
        cls,
        path: Path,
        connection: sqlite3.Connection,
        monotonic: Callable[[], float],
        wall: Callable[[], float],
        writer: Callable[[Settled], JournalWriter] | None = None,
        *,
        is_copy: bool = False,
    ) -> Self:
        migrations = known_migrations()
        latest = migrations[-1].version
        try:
            if writer:
                migrate(connection, path, migrations)
                create_tables(connection, path.parent)
            elif check_version(connection, path, latest) < latest and not is_copy:
                raise OperationFailed(
                    f"{path} is of an older release; bring it up to date with: folkmoot journal adopt"
                )
        except (sqlite3.Error, FolkmootError) as error:
            explained = explain(error, path, connection)
            connection.close()
            raise explained from error
        reader = Reader(connection, path, monotonic, wall, is_copy=is_copy)
        return cls(reader, writer, Contents(monotonic))

    async def select(self, statement: str, values: Sequence[object]) -> list[Any]:
        tables = await self._reader.tables(self.progress)
        return await tables.select(statement, values)

    async def rebuild(self) -> None:
        await self._reader.rebuild(self.progress)


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
