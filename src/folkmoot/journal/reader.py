"""Reads a journal's database. Each page is a query of its own, so that a slow reader never holds up the
writer."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from folkmoot.errors import FolkmootError, JournalDamaged, OperationFailed
from folkmoot.journal.artifacts import Unnamed, fetch_file, fetch_row, is_live, unnamed, whole_entry
from folkmoot.journal.database import connect_readonly, explain
from folkmoot.journal.rows import Progress
from folkmoot.journal.tables import StoredTables, catch_up
from folkmoot.ports import Claim, Post, Query, Stored

# How much is done before the event loop gets its turn:
_PAGE = 100
_BYTES = 256 * 1024
_SCANNED = 5_000
"""Entries looked at for some types of which no index knows the places."""

T = TypeVar("T")
_Row = tuple[int, int, int, str, bytes, bytes, bytes | None]


class Reader:
    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        monotonic: Callable[[], float],
        wall: Callable[[], float],
        *,
        is_copy: bool = False,
    ) -> None:
        self._connection = connection
        self.path = path
        self._monotonic = monotonic
        self._wall = wall
        self._tables = StoredTables(connection, path.parent)
        self._catching_up = asyncio.Lock()
        self._can_store = not is_copy
        """Whether rows of the read model can be stored for the next reader."""
        self._is_copied = False
        self._names: dict[int, str] = {}
        self._closed = False

    async def stored(self, query: Query) -> AsyncIterator[Stored]:
        left = query.limit or sys.maxsize
        low, high = query.after, self._last()
        while low < high:
            rows, low, high = self._page(query, low, high, min(left, _PAGE))
            done = 0
            for row in rows:
                name = self._names.get(row[1]) or self._name(row[1])
                stored = await whole_entry(row, name, self.artifact)
                yield stored
                left -= 1
                if left == 0:
                    return
                done += len(stored.text)
                if done > _BYTES:
                    done = 0
                    await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def artifact(self, id: str) -> bytes:
        try:
            content = fetch_row(self._connection, id)
        except sqlite3.Error as error:
            raise explain(error, self.path, self._connection) from error
        return content if content is not None else await asyncio.to_thread(fetch_file, self.path.parent, id)

    async def tables(self, progress: Progress) -> StoredTables:
        """The read model, up to date."""
        async with self._catching_up:
            self._require_open()
            try:
                if self._tables.position is None or self._tables.gap:
                    await self._catch_up(progress)
            except sqlite3.Error as error:
                raise explain(error, self.path, self._connection) from error
        return self._tables

    async def _catch_up(self, progress: Progress, *, anew: bool = False) -> None:
        if self._can_store:
            try:
                await asyncio.to_thread(catch_up, self.path, progress, anew=anew)
                return
            except JournalDamaged:
                raise
            except (FolkmootError, sqlite3.Error):
                self._can_store = False  # nobody may write here
        if anew or not self._is_copied:
            self._tables.copy(empty=anew)
            self._is_copied = True
        while self._tables.gap:
            self._tables.apply_next()
            await asyncio.sleep(0)

    async def rebuild(self, progress: Progress) -> None:
        async with self._catching_up:
            self._require_open()
            await self._catch_up(progress, anew=True)

    async def claims(self, runs: Collection[str] | None) -> list[Claim]:
        now = self._monotonic()
        query = "SELECT name, owner, epoch, until FROM stream WHERE epoch > 0"
        rows = (
            self._select(f"{query} ORDER BY number")
            if runs is None
            else [row for run in runs for row in self._select(f"{query} AND name = ?", run)]
        )
        return [
            Claim(name, owner, epoch, live=is_live(until, now))
            for name, owner, epoch, until in self._typed(rows, list[tuple[str, str, int, float]])
        ]

    async def posts(self, runs: Sequence[str]) -> list[Post]:
        """Most inboxes are empty: those that are not are fewer than the runs that somebody asks for."""
        wanted = set(runs)
        query = "SELECT id, run, kind, body FROM post"
        if len(wanted) == 1:
            rows = self._select(f"{query} WHERE run = ? ORDER BY id", *wanted)
        else:
            rows = self._select(f"{query} ORDER BY id")
        return [Post(*row) for row in self._typed(rows, list[tuple[int, str, str, str]]) if row[1] in wanted]

    async def unnamed(self, young: float) -> Unnamed:
        return await asyncio.to_thread(self._unnamed, self._wall() - young)

    async def close(self) -> None:
        self._closed = True
        self._connection.close()

    def _unnamed(self, before: float) -> Unnamed:
        connection = connect_readonly(self.path)
        try:
            return unnamed(connection, self.path.parent, before)
        finally:
            connection.close()

    def _last(self) -> int:
        last: int = self._select("SELECT ifnull(max(seq), 0) FROM entry")[0][0]
        return last

    def _page(self, query: Query, low: int, high: int, size: int) -> tuple[list[_Row], int, int]:
        """Some of the wanted entries with low < seq <= high, and the bounds of what is left to look at."""
        first, last = low, high
        condition, wanted = _condition(query)
        if query.types and not query.stream and not query.prefix:
            first, last = (
                (max(low, high - _SCANNED), high) if query.newest_first else (low, min(high, low + _SCANNED))
            )
        rows = self._select(
            f"SELECT seq, stream, run_seq, type, id, text, data FROM entry WHERE seq > ? AND seq <= ?{condition}"
            f" ORDER BY seq {'DESC' if query.newest_first else 'ASC'} LIMIT {size}",
            first,
            last,
            *wanted,
        )
        if len(rows) == size:
            first, last = rows[-1][0] - 1, rows[-1][0]
        page = self._typed(rows, list[_Row])
        return (page, low, first) if query.newest_first else (page, last, high)

    def _name(self, number: int) -> str:
        rows = self._typed(self._select("SELECT name FROM stream WHERE number = ?", number), list[tuple[str]])
        self._names[number] = rows[0][0] if rows else f"<number {number}, which is missing>"
        return self._names[number]

    def _require_open(self) -> None:
        if self._closed:
            raise OperationFailed("the journal is closed", code="journal_unusable")

    def _select(self, statement: str, *values: object) -> list[Any]:
        self._require_open()
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise explain(error, self.path, self._connection) from error

    def _typed(self, rows: list[Any], type: type[T]) -> T:
        """A damaged file may hold anything in any column."""
        try:
            return msgspec.convert(rows, type, builtin_types=(bytes,))
        except msgspec.ValidationError as error:
            raise JournalDamaged(
                f"{self.path}: a row is not what was written: {error}: {rows[:1]!r:.200}"
            ) from error


def _condition(query: Query) -> tuple[str, list[str]]:
    condition, values = "", [*query.types]
    if query.types:
        condition += f" AND type IN ({','.join('?' * len(query.types))})"
    if query.stream:
        condition += " AND stream = (SELECT number FROM stream WHERE name = ?)"
        values.append(query.stream)
    if query.seqs:
        condition += f" AND seq IN ({','.join(map(str, query.seqs))})"
    if query.prefix:
        condition += " AND stream IN (SELECT number FROM stream WHERE name >= ? AND name < ?)"
        values += [query.prefix, query.prefix + "\U0010ffff"]
    return condition, values
