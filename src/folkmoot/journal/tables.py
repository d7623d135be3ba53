"""The read model in SQLite: beside the entries of a project's journal, or in memory where those cannot be written to.

Who appends entries stores the rows that follow from them in the same commit (`Ledger`). Entries of a release without
these tables leave a gap, which the next reader applies, some at a time so that writers get their turn.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from folkmoot.domain.entry import Entry
from folkmoot.domain.read_model import Applier, Changes, is_applied
from folkmoot.journal import rows as sql
from folkmoot.journal.artifacts import fetch_file, fetch_row
from folkmoot.journal.codec import to_applied
from folkmoot.journal.database import begin, connect, statements_of
from folkmoot.ports import ItemQuery, Journal, Query, RecordQuery, RunQuery, SpendQuery, Stored

CHUNK = 500
"""Entries applied in one transaction."""
_PAUSE = 0.005
"""Seconds between two of them, for others who write."""
_SCHEMA = (Path(__file__).parent / "tables.sql").read_text("utf-8")
_ENTRIES = "SELECT seq, name, run_seq, type, id, text, data FROM entry JOIN stream ON number = stream WHERE "


class Tables(sql.ReadModel):
    """The tables of one connection, whose transactions are the caller's."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor()  # one for each statement would be as dear as a small statement

    @property
    def position(self) -> int | None:
        """The last entry that was applied; None if there are no tables of this version."""
        if not self._connection.execute("PRAGMA table_info(read_model)").fetchall():
            return None
        row = self._connection.execute("SELECT version, position FROM read_model").fetchone()
        return row[1] if row and row[0] == sql.VERSION else None

    def create(self, *, temporary: bool = False) -> None:
        """Empty, in place of those that are there."""
        script = _SCHEMA
        if not temporary:  # lists of runs read the tables now
            self._connection.execute("DROP INDEX IF EXISTS entry_of_list")
        else:
            script = script.replace("TABLE ", "TEMP TABLE ").replace("INDEX ", "INDEX temp.")
        for table in sql.TABLES:
            self._connection.execute(f"DROP TABLE IF EXISTS {'temp' if temporary else 'main'}.{table}")
        for statement in statements_of(script):
            self._connection.execute(statement)
        self._connection.execute("INSERT INTO read_model VALUES (?, 0)", (sql.VERSION,))

    def store(self, changes: Changes, position: int) -> None:
        for statement, rows in sql.writing(changes):
            if len(rows) == 1:
                self._cursor.execute(statement, rows[0])
            else:
                self._cursor.executemany(statement, rows)
        self._cursor.execute("UPDATE read_model SET position = ?", (position,))

    async def select(self, statement: str, values: Sequence[object]) -> list[Any]:
        return self._connection.execute(statement, values).fetchall()


class StoredTables(Tables):
    """Beside the entries that they follow from."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        super().__init__(connection)
        self._folder = folder
        """Where large artifacts lie."""
        self._applier = Applier()

    @property
    def gap(self) -> int:
        """Entries that are not applied yet, roughly."""
        last: int = self._connection.execute("SELECT ifnull(max(seq), 0) FROM entry").fetchone()[0]
        return last - (self.position or 0)

    def fold(self, entries: Sequence[Entry], before: int, position: int) -> Changes:
        """The rows that change with what follows on the entry `before`, up to a position."""
        return self._applier.apply(entries, before, position, self._past)

    def apply_next(self) -> None:
        """Apply some entries of the gap."""
        before = self.position or 0
        if rows := self._connection.execute(
            f"{_ENTRIES}seq > ? ORDER BY seq LIMIT {CHUNK}", (before,)
        ).fetchall():
            last = rows[-1][0]
            self.store(self.fold(self._entries(rows), before, last), last)

    def catch_up(self) -> None:
        while self.gap:
            self.apply_next()

    def copy(self, *, empty: bool = False) -> None:
        """For a connection that cannot write: what is stored, in memory, where the gap can be applied."""
        self._connection.execute("PRAGMA temp_store = MEMORY")
        known = None if empty else self.position
        self.create(temporary=True)
        for table in sql.TABLES if known is not None else ():
            self._connection.execute(f"DELETE FROM temp.{table}")
            self._connection.execute(f"INSERT INTO temp.{table} SELECT * FROM main.{table}")

    def _past(self, stream: str, end: int) -> list[Entry]:
        past = f"{_ENTRIES}name = ? AND seq < ? ORDER BY seq"
        return self._entries(self._connection.execute(past, (stream, end)).fetchall())

    def _entries(self, rows: Iterable[Sequence[Any]]) -> list[Entry]:
        return [self._entry(row) for row in rows if is_applied(row[1], row[3])]

    def _entry(self, row: Sequence[Any]) -> Entry:
        seq, stream, run_seq, type, id, text, data = row
        if data is not None:
            content = fetch_row(self._connection, data.hex())
            text += (content if content is not None else fetch_file(self._folder, data.hex())) + b"}"
        return to_applied(Stored(seq, stream, run_seq, type, id.hex(), text))


def create_tables(connection: sqlite3.Connection, folder: Path) -> None:
    """Unless they are there."""
    tables = StoredTables(connection, folder)
    if tables.position is None:
        begin(connection)
        if tables.position is None:  # another process may have been quicker
            tables.create()
        connection.execute("COMMIT")


def catch_up(path: Path, told: sql.Progress = lambda done, count: None, *, anew: bool = False) -> None:
    """Apply the gap of a journal's tables, from any thread; `anew`: all of its entries."""
    connection = connect(path)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")  # what is lost with the power is applied again
        tables = StoredTables(connection, path.parent)
        if anew:
            begin(connection)
            tables.create()
            connection.execute("COMMIT")
        create_tables(connection, path.parent)
        missing = count = tables.gap
        while missing:
            begin(connection)
            tables.apply_next()
            connection.execute("COMMIT")
            missing = tables.gap
            told(max(0, count - missing), count)
            if missing:
                time.sleep(_PAUSE)
    finally:
        connection.close()


async def compare_tables(journal: Journal) -> list[str]:
    """The runs and records whose stored rows are not those that follow from the entries."""
    expected = Tables(sqlite3.connect(":memory:", isolation_level=None))
    expected.create()
    applier, position = Applier(), 0
    async for entry in journal.read(Query()):
        if is_applied(entry.stream, entry.event.type):
            for stream in applier.missing([entry], position):
                past = [each async for each in journal.read(Query(stream=stream)) if each.seq < entry.seq]
                applier.learn(stream, past)
            expected.store(applier.apply([entry], position, entry.seq), entry.seq)
            position = entry.seq
    found = Counter[tuple[str, bytes]]()
    for model in (journal, expected):
        found.update([(run.run, msgspec.json.encode(run)) for run in await model.runs(RunQuery())])
        found.update([(item.run, msgspec.json.encode(item)) for item in await model.items(ItemQuery())])
        found.update([(row.id, msgspec.json.encode(row)) for row in await model.records(RecordQuery())])
        found.update(
            [(row.name, msgspec.json.encode(row)) for row in await model.spend(SpendQuery(by="run"))]
        )
    return sorted({name for (name, _), count in found.items() if count != 2})
