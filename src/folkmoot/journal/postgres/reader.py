"""Reads a project's schema, a page at a time: no transaction stays open while somebody looks at what it gave."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any

from psycopg.errors import UndefinedTable

from folkmoot.journal.artifacts import Unnamed, sound, whole_entry
from folkmoot.journal.postgres.artifacts import unnamed
from folkmoot.journal.postgres.server import Connection, Line, Server
from folkmoot.journal.postgres.statements import SEEMS_HELD
from folkmoot.ports import Claim, Post, Query, Stored

_PAGE = 100
_LISTED = "(type LIKE 'run.%%' OR type LIKE 'session.%%')"
"""The condition of the index `entry_of_list`."""
_ID = re.compile(r"[0-9a-f]{64}")


class Reader:
    def __init__(self, server: Server) -> None:
        self._line = Line(server)
        self._place = server.name

    async def stored(self, query: Query) -> AsyncIterator[Stored]:
        left = query.limit or sys.maxsize
        low, high = query.after, sys.maxsize
        while low < high:
            rows = await self._page(query, low, high, size := min(left, _PAGE))
            for *row, _ in rows:
                yield await self.stored_row(row)
            left -= len(rows)
            if len(rows) < size or not left:
                return
            last, *_, end = rows[-1]
            low, high = (low, last - 1) if query.newest_first else (last, min(high, end))

    async def artifact(self, id: str) -> bytes:
        """Raises KeyError when nobody kept it, JournalDamaged for content that has changed."""
        if not _ID.fullmatch(id):
            raise KeyError(id)
        rows = await self._select("SELECT content FROM artifact WHERE id = %s", bytes.fromhex(id))
        if not rows:
            raise KeyError(id)
        return sound(id, rows[0][0], self._place)

    async def installation_secret(self) -> bytes:
        rows = await self._select("SELECT secret FROM installation")
        return bytes(rows[0][0]) if rows else b""

    async def claims(self, runs: Collection[str] | None) -> list[Claim]:
        which = "" if runs is None else "AND name = ANY(%s)"
        rows = await self._select(
            f"SELECT name, owner, epoch, {SEEMS_HELD} FROM stream WHERE epoch > 0 {which} ORDER BY name",
            *([] if runs is None else [[run.encode() for run in runs]]),
        )
        return [Claim(name.decode(), owner, epoch, live=live) for name, owner, epoch, live in rows]

    async def posts(self, runs: Sequence[str]) -> list[Post]:
        rows = await self._select(
            "SELECT id, run, kind, body FROM post WHERE run = ANY(%s) AND NOT taken ORDER BY id",
            [run.encode() for run in runs],
        )
        return [Post(id, run.decode(), kind, body.decode()) for id, run, kind, body in rows]

    async def close(self) -> None:
        await self._line.close()

    async def _page(self, query: Query, low: int, high: int, size: int) -> list[Any]:
        """Some of the wanted entries with low < seq <= high, each with the end of the journal."""
        condition, wanted = "", list[object]()
        if query.types:
            condition, wanted = " AND type = ANY(%s)", [list(query.types)]
            if all(type.startswith(("run.", "session.")) for type in query.types):
                condition += f" AND {_LISTED}"
        if query.stream:
            condition += " AND stream = %s"
            wanted.append(query.stream.encode())
        if query.seqs:
            condition += " AND seq = ANY(%s)"
            wanted.append(list(query.seqs))
        if query.prefix:
            condition += " AND stream >= %s AND stream < %s"
            wanted += [query.prefix.encode(), query.prefix.encode() + b"\xff"]
        return await self._select(
            "SELECT seq, stream, run_seq, type, id, text, data, (SELECT seq FROM head) AS last FROM entry"
            f" WHERE seq > %s AND seq <= %s{condition}"
            f" ORDER BY seq {'DESC' if query.newest_first else 'ASC'} LIMIT {size}",
            low,
            high,
            *wanted,
        )

    async def stored_row(self, row: list[Any]) -> Stored:
        return await whole_entry(row, row[1].decode(errors="replace"), self.artifact)

    async def unnamed(self, young: float) -> Unnamed:
        return await unnamed(self._select, young)

    async def _select(self, statement: str, *values: object) -> list[Any]:
        async def select(connection: Connection) -> list[Any]:
            try:
                cursor = await connection.cursor(binary=True).execute(statement.encode(), values)
            except UndefinedTable:  # nothing has run yet, and who only reads makes nothing
                return []
            return await cursor.fetchall()

        return await self._line.use(select)
