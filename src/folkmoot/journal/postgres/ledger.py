"""What happens inside a transaction: each piece of work decides in memory, then all of it is written at once.

Work checks first and changes after, so that a refused one leaves nothing behind and its neighbours in the same
transaction do not notice. Streams are read under the lock of the head before anything is decided, except in the one
case that matters most: entries for streams that were written before are added in a single round trip, and the
database refuses them if a stream is no longer as it was left.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from folkmoot.domain.entry import Entry
from folkmoot.errors import Held, WrongUse
from folkmoot.journal.codec import ORIGIN, seal
from folkmoot.journal.contents import Body
from folkmoot.journal.expectation import check
from folkmoot.journal.postgres.migrations import LATEST
from folkmoot.journal.postgres.server import Connection, Server
from folkmoot.ports import Claim, Epoch, NewRun, Post, Version

_REMEMBERED = 10_000


class Ledger:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._now = 0.0
        self._streams: dict[str, _Stream] = {}
        """As they were left."""
        self._clear()

    def _clear(self) -> None:
        self._ends: dict[str, int] = {}
        """Where each stream that gets entries ended when the transaction began."""
        self._new: list[_New] = []
        self._moved: dict[str, _Stream] = {}
        self._posts: list[tuple[bytes, str, bytes, bytes]] = []
        self._taken: list[int] = []

    def forget(self) -> None:
        """After a transaction that failed: nothing of it was written, but it was remembered."""
        self._streams.clear()
        self._clear()

    def remembers(self, streams: Iterable[str]) -> bool:
        return all(stream in self._streams for stream in streams)

    async def begin(self, connection: Connection) -> None:
        """Lock the head: from here to the end of the transaction nobody else writes."""
        await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        ((self._now,),) = await _select(connection, "SELECT moment() FROM head FOR UPDATE")

    async def look(self, connection: Connection, streams: Iterable[str]) -> None:
        """Learn how these streams stand."""
        self.forget()
        await self._server.check_version(connection)
        for name, owner, epoch, until, run_seq, id in await _select(
            connection, _FIND, [*map(str.encode, streams)]
        ):
            end = (run_seq, id.hex()) if id else (0, ORIGIN)
            self._streams[name.decode()] = _Stream(name.decode(), owner, epoch, until, *end)

    def append(self, name: str, expected: NewRun | Epoch | Version, bodies: Sequence[Body]) -> list[Entry]:
        """A list that is filled when the entries have their positions."""
        stream = self._streams.get(name)
        if stream is None:
            check(name, expected, 0, None)
            stream = self._streams[name] = self._moved[name] = _Stream(name)
            if isinstance(expected, NewRun):
                stream.owner, stream.epoch, stream.until = expected.owner, 1, self._now + expected.lease
        else:
            check(name, expected, stream.epoch, stream.run_seq)
        self._ends.setdefault(name, stream.run_seq)
        entries: list[Entry] = []
        for body in bodies:
            stream.run_seq += 1
            prev, (text, stream.id) = stream.id, seal(stream.id, stream.run_seq, body.text)
            self._new.append(_New(entries, body, name, stream.run_seq, stream.id, prev, text))
        return entries

    def claim(self, run: str, owners: tuple[str, str], lease: float) -> Claim:
        """For the first of `owners`; the lease of either of them is no hindrance."""
        stream = self._existing(run)
        if stream.owner not in owners and stream.until > self._now:
            raise Held(run, stream.owner)
        stream.owner, stream.epoch, stream.until = owners[0], stream.epoch + 1, self._now + lease
        self._moved[run] = stream
        return Claim(run, owners[0], stream.epoch, live=True)

    def renew(self, claims: Sequence[Claim], lease: float) -> None:
        """For so many seconds from now; none lets go."""
        for claim in claims:
            stream = self._streams.get(claim.run)
            if stream and stream.epoch == claim.epoch:
                stream.until = self._now + lease if lease else 0.0
                self._moved[claim.run] = stream

    def post(self, run: str, kind: str, body: str) -> None:
        self._existing(run)
        self._posts.append((run.encode(), kind, body.encode(), os.urandom(16)))

    def take(self, post: Post) -> None:
        self._taken.append(post.id)

    async def add(self, connection: Connection) -> int | None:
        """Write entries, and nothing else, if their streams still stand as they are remembered. The position of the
        last entry before them; None if nothing was written."""
        if not self._new:
            return None
        known = [(name.encode(), self._streams[name].epoch, end) for name, end in self._ends.items()]
        rows = await _select(connection, _ADD, LATEST, *_columns(known), *_columns(map(_row, self._new)))
        return rows[0][0] if rows else None

    async def write(self, connection: Connection) -> int:
        """Everything that was decided since `look`. Gives the position of the last entry before the new ones."""
        if self._moved:
            await connection.execute(_MOVE, _columns(map(_stored, self._moved.values())))
        if self._posts:
            await connection.execute(_POST, _columns(self._posts))
        if self._taken:
            await connection.execute("UPDATE post SET taken = true WHERE id = ANY(%s)", (self._taken,))
        last = await self.add(connection)
        assert last is not None or not self._new, "the streams were read under the lock"
        return last or 0

    async def find(self, connection: Connection) -> int | None:
        """Whether a commit of which nothing was heard has happened: the position before its first entry if so.

        A claim, a renewal or a take can be repeated, and leaves no trace of its own. It is asked under the lock, and
        whoever does not find it writes under the same one: the server may not have noticed that its client is gone,
        still have to commit, and must then find that it comes too late.
        """
        if self._new:
            name, run_seq, _, id, *_ = _row(self._new[-1])
            where = "stream = %s AND run_seq = %s AND id = %s"
            rows = await _select(connection, f"SELECT seq FROM entry WHERE {where}", name, run_seq, id)
            return rows[0][0] - len(self._new) if rows else None
        token = self._posts[-1][-1] if self._posts else b""
        return 0 if await _select(connection, "SELECT 1 FROM post WHERE token = %s", token) else None

    def settle(self, last: int) -> None:
        """After the commit: give the entries their positions."""
        for seq, new in enumerate(self._new, last + 1):
            new.entries.append(
                Entry(seq, new.run_seq, new.id, new.prev, new.stream, new.body.draft, new.text)
            )
        self._clear()
        if len(self._streams) > _REMEMBERED:
            self._streams.clear()

    def _existing(self, run: str) -> _Stream:
        if run not in self._streams:
            raise WrongUse(f"there is no run {run!r}")
        return self._streams[run]


class _Stream(msgspec.Struct):
    name: str
    owner: str = ""
    epoch: int = 0
    until: float = 0.0
    run_seq: int = 0
    id: str = ORIGIN


class _New(msgspec.Struct, gc=False):
    """An entry that has its place in its stream, but none in the journal yet."""

    entries: list[Entry]
    body: Body
    stream: str
    run_seq: int
    id: str
    prev: str
    text: bytes


_ADD = """
SELECT * FROM add(%s, %b::bytea[], %s::bigint[], %s::bigint[],
  %b::bytea[], %s::bigint[], %s::text[], %b::bytea[], %b::bytea[], %b::bytea[])"""
_FIND = """
SELECT name, owner, epoch, until, run_seq, id FROM stream LEFT JOIN LATERAL
  (SELECT run_seq, id FROM entry WHERE stream = name ORDER BY run_seq DESC LIMIT 1) AS last ON true
WHERE name = ANY(%s)"""
_MOVE = """
INSERT INTO stream SELECT * FROM unnest(%b::bytea[], %s::text[], %s::bigint[], %s::float8[])
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch, until = excluded.until"""
_POST = """
INSERT INTO post (run, kind, body, token) SELECT * FROM unnest(%b::bytea[], %s::text[], %b::bytea[], %b::bytea[])"""


def _row(new: _New) -> tuple[object, ...]:
    type, data = new.body.draft.event.type, new.body.data or None
    return new.stream.encode(), new.run_seq, type, bytes.fromhex(new.id), new.body.row(new.text), data


def _stored(stream: _Stream) -> tuple[object, ...]:
    return stream.name.encode(), stream.owner, stream.epoch, stream.until


def _columns(rows: Iterable[Sequence[object]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]


async def _select(connection: Connection, query: str, *values: object) -> Any:
    cursor = await connection.cursor(binary=True).execute(query.encode(), values)
    return await cursor.fetchall()
