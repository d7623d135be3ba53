"""What happens inside a transaction: read what it needs, decide in memory, write all of it with the commit.

Each piece of work checks first and changes after, so that a refused one leaves nothing behind and its neighbours in
the same transaction do not notice. Where streams end and who owns them is remembered between transactions. That is safe because
the head, whose lock is held until the commit, tells whether anyone else wrote since; then all of it is forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import msgspec

from folkmoot.domain.entry import Entry
from folkmoot.errors import Held, WrongUse
from folkmoot.journal.codec import ORIGIN, seal
from folkmoot.journal.contents import Body
from folkmoot.journal.expectation import check
from folkmoot.journal.postgres.server import Connection
from folkmoot.ports import Claim, Epoch, NewRun, Post, Version

_REMEMBERED = 10_000


class Ledger:
    def __init__(self, channel: str, check_version: Callable[[Connection], Awaitable[object]]) -> None:
        self._channel = channel
        self._check_version = check_version
        self.forget()

    def forget(self) -> None:
        """After a transaction that failed, nothing that was remembered can be relied on."""
        self._seq = self._numbers = 0
        self._change = -1
        self._now = 0.0
        self._streams: dict[str, _Stream] = {}
        self._clear()

    def _clear(self) -> None:
        self._entries: list[tuple[int, int, str, bytes, bytes, bytes | None]] = []
        self._moved: dict[int, _Stream] = {}
        self._posts: list[tuple[bytes, str, bytes, bytes]] = []
        self._taken: list[int] = []

    async def begin(self, connection: Connection, names: Iterable[str]) -> None:
        """Lock the head, and learn about the streams of these names."""
        wanted = {name for name in names if name not in self._streams}
        async with connection.pipeline():
            await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            head = await _select(connection, "SELECT seq, streams, change, moment() FROM head FOR UPDATE")
            found = await _select(connection, _FIND, [_named(wanted)]) if wanted else None
        self._seq, self._numbers, change, self._now = await head.fetchone()
        if found:
            self._remember(await found.fetchall())
        if change != self._change or len(self._streams) > _REMEMBERED:
            self._streams.clear()
            self._change = change
            await self._check_version(connection)
            found = await _select(connection, _FIND, [_named(names)])
            self._remember(await found.fetchall())

    def append(self, stream: str, expected: NewRun | Epoch | Version, bodies: Sequence[Body]) -> list[Entry]:
        known = self._streams.get(stream)
        if known is None:
            check(stream, expected, 0, None)
            self._numbers += 1
            known = self._streams[stream] = self._moved[self._numbers] = _Stream(self._numbers, stream)
            if isinstance(expected, NewRun):
                known.owner, known.epoch, known.until = expected.owner, 1, self._now + expected.lease
        else:
            check(stream, expected, known.epoch, known.run_seq)
        return [self._add(known, body) for body in bodies]

    def claim(self, run: str, owners: tuple[str, str], lease: float) -> Claim:
        """For the first of `owners`; the lease of either of them is no hindrance."""
        stream = self._existing(run)
        if stream.owner not in owners and stream.until > self._now:
            raise Held(run, stream.owner)
        stream.owner, stream.epoch = owners[0], stream.epoch + 1
        self._hold(stream, self._now + lease)
        return Claim(run, owners[0], stream.epoch, live=True)

    def renew(self, claims: Sequence[Claim], lease: float) -> None:
        """For so many seconds; none lets go."""
        for claim in claims:
            stream = self._streams.get(claim.run)
            if stream and stream.epoch == claim.epoch:
                self._hold(stream, self._now + lease if lease else 0.0)

    def post(self, run: str, kind: str, body: str) -> None:
        self._existing(run)
        self._posts.append((run.encode(), kind, body.encode(), os.urandom(16)))

    def take(self, post: Post) -> None:
        self._taken.append(post.id)

    @property
    def proof(self) -> Proof | None:
        """What is found in the database if this transaction was committed, and only then. None if it may as well be
        repeated: a claim, a renewal or a take twice is the same as once."""
        if self._entries:
            number, run_seq, _, id, *_ = self._entries[-1]
            return "SELECT 1 FROM entry WHERE stream = %s AND run_seq = %s AND id = %s", (number, run_seq, id)
        if self._posts:
            return "SELECT 1 FROM post WHERE token = %s", (self._posts[-1][-1],)
        return None

    async def commit(self, connection: Connection, contents: Sequence[tuple[str, bytes]]) -> None:
        """Write everything, in one round trip with the commit. If it raises, ask for the proof."""
        async with connection.pipeline():
            for id, content in contents:
                await connection.execute(_KEEP, (bytes.fromhex(id), content))
            if self._moved:
                await connection.execute(_MOVE, _columns(map(_stored, self._moved.values()), 5))
            if self._posts:
                await connection.execute(_POST, _columns(self._posts, 4))
            if self._taken:
                await connection.execute("UPDATE post SET taken = true WHERE id = ANY(%s)", (self._taken,))
            if self._entries:
                await connection.execute(
                    _APPEND, (self._seq - len(self._entries), *_columns(self._entries, 6), self._channel)
                )
            if self._entries or self._moved:
                self._change += 1
                await connection.execute(
                    "UPDATE head SET seq = %s, streams = %s, change = %s",
                    (self._seq, self._numbers, self._change),
                )
            await connection.execute("COMMIT")
        self._clear()

    def _add(self, stream: _Stream, body: Body) -> Entry:
        prev = stream.id
        text, id = seal(prev, stream.run_seq + 1, body.text)
        self._seq += 1
        stream.run_seq += 1
        stream.id = id
        type = body.draft.event.type
        self._entries.append(
            (stream.number, stream.run_seq, type, bytes.fromhex(id), body.row(text), body.data or None)
        )
        return Entry(self._seq, stream.run_seq, id, prev, stream.name, body.draft, text)

    def _hold(self, stream: _Stream, until: float) -> None:
        stream.until = until
        self._moved[stream.number] = stream

    def _existing(self, run: str) -> _Stream:
        if run not in self._streams:
            raise WrongUse(f"there is no run {run!r}")
        return self._streams[run]

    def _remember(self, rows: Iterable[tuple[Any, ...]]) -> None:
        for number, name, owner, epoch, until, run_seq, id in rows:
            stream = _Stream(number, name.decode(), owner, epoch, until, run_seq or 0, id.hex() if id else ORIGIN)
            self._streams[stream.name] = stream


Proof = tuple[str, tuple[object, ...]]


class _Stream(msgspec.Struct):
    number: int
    name: str
    owner: str = ""
    epoch: int = 0
    until: float = 0.0
    run_seq: int = 0
    id: str = ORIGIN


_FIND = """
SELECT number, name, owner, epoch, until, run_seq, id FROM stream LEFT JOIN LATERAL
  (SELECT run_seq, id FROM entry WHERE stream = number ORDER BY run_seq DESC LIMIT 1) AS last ON true
WHERE name = ANY(%s)"""
_KEEP = "INSERT INTO artifact VALUES (%b, %b) ON CONFLICT DO NOTHING"
_MOVE = """
INSERT INTO stream SELECT * FROM unnest(%s::bigint[], %b::bytea[], %s::text[], %s::bigint[], %s::float8[])
ON CONFLICT (number) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch, until = excluded.until"""
_POST = """
INSERT INTO post (run, kind, body, token) SELECT * FROM unnest(%b::bytea[], %s::text[], %b::bytea[], %b::bytea[])"""
_APPEND = """
WITH added AS (INSERT INTO entry SELECT %s + place, stream, run_seq, type, id, text, data
  FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %b::bytea[], %b::bytea[], %b::bytea[])
  WITH ORDINALITY AS new (stream, run_seq, type, id, text, data, place))
SELECT pg_notify(%s, '')"""


def _stored(stream: _Stream) -> tuple[object, ...]:
    return stream.number, stream.name.encode(), stream.owner, stream.epoch, stream.until


def _columns(rows: Iterable[Sequence[object]], count: int) -> tuple[list[object], ...]:
    columns = tuple(map(list, zip(*rows, strict=True)))
    assert len(columns) == count
    return columns


def _named(names: Iterable[str]) -> list[bytes]:
    return [name.encode() for name in names]


async def _select(connection: Connection, query: str, values: Sequence[object] = ()) -> Any:
    return await connection.cursor(binary=True).execute(query, values)
