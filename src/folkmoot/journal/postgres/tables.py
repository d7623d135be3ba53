"""The read model in PostgreSQL. Whoever reads it applies the entries since its position first, under a lock of its
own: the hosts that write take no notice, and of several that read at once one does it for all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from folkmoot.domain.entry import Entry
from folkmoot.domain.read_model import APPLIED, Applier, is_applied, is_record, unread
from folkmoot.journal.codec import to_applied
from folkmoot.journal.postgres.reader import Reader
from folkmoot.journal.postgres.server import Connection, Line, Server
from folkmoot.journal.postgres.statements import select
from folkmoot.journal.rows import TABLES, VERSION, Progress, writing
from folkmoot.ports import Query

_CHUNK = 1_000
"""Entries applied in one transaction."""
_SCHEMA = (Path(__file__).parent / "tables.sql").read_text("utf-8")
_KNOWN = "SELECT (SELECT position FROM read_model WHERE version = %s), (SELECT seq FROM head)"


class PostgresTables:
    def __init__(self, server: Server, reader: Reader) -> None:
        self._line = Line(server)
        self._using = asyncio.Lock()
        """One at a time: a connection has one transaction."""
        self._reader = reader
        self._applier = Applier()

    async def select(self, statement: str, values: Sequence[object], progress: Progress) -> list[Any]:
        """Rows of the read model, up to date; none if nothing ever ran."""
        async with self._using:
            return await self._select(_with_s(statement), [*map(_clean, values)], progress)

    async def close(self) -> None:
        await self._line.close()

    async def _select(self, statement: str, values: Sequence[object], progress: Progress) -> list[Any]:
        if not await self._line.use(_exist):
            if not await self._line.use(partial(_exist, table="entry")):
                return []
            await self._line.use(_create)
        first, (position, last) = None, await self._line.use(_known)
        while position < last:
            first = position if first is None else first
            position, last = await self._line.use(self._apply_next)
            progress(position - first, last - first)
        rows: list[Any] = await self._line.use(lambda connection: select(connection, statement, *values))
        return rows

    async def create(self) -> None:
        """Empty, in place of those that are there."""
        async with self._using:
            await self._line.use(_create)

    async def _apply_next(self, connection: Connection) -> tuple[int, int]:
        async with connection.transaction():
            ((position,),) = await select(connection, "SELECT position FROM read_model FOR UPDATE")
            entries = [
                await self._entry(row)
                for row in await select(connection, _ENTRIES.format("seq > %s"), position, _CHUNK)
            ]
            if entries:
                for stream, end in self._applier.missing(entries):
                    self._applier.learn(stream, await self._past(stream, end))
                async with connection.cursor() as cursor:
                    for statement, rows in writing(self._applier.apply(entries)):
                        cleaned = [[*map(_clean, row)] for row in rows]
                        await cursor.executemany(_with_s(statement).encode(), cleaned)
                await connection.execute("UPDATE read_model SET position = %s", (entries[-1].seq,))
        return await _known(connection)

    async def _past(self, stream: str, end: int) -> list[Entry]:
        query = Query(stream=stream, types=() if is_record(stream) else tuple(sorted(APPLIED)))
        past = [to_applied(each) async for each in self._reader.stored(query) if each.seq < end]
        return [*past, unread(end - 1, stream, await self._reader.last_place(stream, end))]

    async def _entry(self, row: list[Any]) -> Entry:
        seq, name, run_seq, type, *_ = row
        if not is_applied(stream := name.decode(), type):
            return unread(seq, stream, run_seq)
        return to_applied(await self._reader.stored_row(row))


async def _exist(connection: Connection, table: str = "read_model") -> bool:
    ((found,),) = await select(connection, "SELECT to_regclass(%s) IS NOT NULL", table)
    return bool(found)


async def _known(connection: Connection) -> tuple[int, int]:
    """The position of the tables and the end of the journal."""
    ((position, last),) = await select(connection, _KNOWN, VERSION)
    if position is None:  # of another version
        await _create(connection)
        position = 0
    return position, last or 0


async def _create(connection: Connection) -> None:
    async with connection.transaction():
        # Freed with the end of the transaction. Of several processes one makes them.
        await connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' tables', 0))"
        )
        for table in TABLES:
            await connection.execute(f"DROP TABLE IF EXISTS {table}".encode())
        await connection.execute(_SCHEMA.encode())
        await connection.execute("INSERT INTO read_model VALUES (%s, 0)", (VERSION,))


def _with_s(statement: str) -> str:
    return statement.replace("?", "%s")


def _clean(value: object) -> object:
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


_ENTRIES = "SELECT seq, stream, run_seq, type, id, text, data FROM entry WHERE {} ORDER BY seq LIMIT %s"
