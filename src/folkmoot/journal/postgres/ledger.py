"""What happens inside a transaction: each piece of work decides in memory, then all of it is written at once.

Work checks first and changes after, so that a refused one leaves nothing behind and its neighbours in the same
transaction do not notice. Streams are read under the lock of the head before anything is decided, except in the one
case that matters most: entries for streams that were written before are added in a single round trip, and the
database refuses them if a stream is no longer as it was left.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from folkmoot.domain.entry import Entry
from folkmoot.domain.fence import Sign, Watch, settle_uncertain
from folkmoot.errors import Conflict, Held, NotFound
from folkmoot.journal.artifacts import Body, StoredBody, Unnamed, check
from folkmoot.journal.codec import ORIGIN, seal
from folkmoot.journal.postgres import artifacts, statements
from folkmoot.journal.postgres.server import LATEST, Connection, Server
from folkmoot.journal.postgres.statements import columns, select, wake
from folkmoot.ports import Claim, Epoch, NewRun, Post, Swept, Version

_REMEMBERED = 10_000
_ROWS = 1_000
"""Entries sent at a time."""


class Ledger:
    def __init__(self, server: Server, watch: Watch) -> None:
        self._server = server
        self._watch = watch
        self._now = 0.0
        """By the server's clock: for people to see, and to save a useless wake."""
        self._streams: dict[str, _Stream] = {}
        """As they were left."""
        self._clear()

    def _clear(self) -> None:
        self._ends: dict[str, int] = {}
        """Where each stream that gets entries ended when the transaction began."""
        self._rows: list[_Row] = []
        self._appended: list[tuple[int, list[Entry]]] = []
        """Entries that have no position yet, with the number of rows before them."""
        self._moved: dict[str, _Stream] = {}
        self._posts: list[tuple[bytes, str, bytes, bytes]] = []
        self._taken: list[int] = []
        self._woken: dict[str, float] = {}
        self._removals: list[Callable[[Connection], Awaitable[None]]] = []

    def forget(self) -> None:
        """After a transaction that failed: nothing of it was written, but it was remembered."""
        self._streams.clear()
        self._clear()

    def remembers(self, streams: Iterable[str]) -> bool:
        return all(stream in self._streams for stream in streams)

    async def begin(self, connection: Connection) -> None:
        """Lock the head: from here to the end of the transaction nobody else writes."""
        await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        ((self._now,),) = await select(connection, "SELECT moment() FROM head FOR UPDATE")

    async def look(self, connection: Connection, streams: Iterable[str]) -> None:
        """Learn how these streams stand."""
        self.forget()
        await self._server.check_version(connection)
        found = await select(connection, statements.FIND, [*map(str.encode, streams)])
        for name, owner, epoch, lease, renewal, renewed, run_seq, id in found:
            held, end = (lease, renewal, renewed), (run_seq, id.hex()) if id else (0, ORIGIN)
            self._streams[name.decode()] = _Stream(name.decode(), owner, epoch, *held, *end)

    def append(self, name: str, expected: NewRun | Epoch | Version, bodies: Sequence[Body]) -> list[Entry]:
        """The entries get their positions when all is written."""
        stream = self._streams.get(name)
        if stream is None:
            check(name, expected, 0, None)
            stream = self._streams[name] = self._moved[name] = _Stream(name)
            if isinstance(expected, NewRun):
                self._hold(stream, expected.owner, 1, expected.lease)
                if not expected.owner:
                    self.wake([name])
        else:
            check(name, expected, stream.epoch, stream.run_seq)
        self._ends.setdefault(name, stream.run_seq)
        entries: list[Entry] = []
        self._appended.append((len(self._rows), entries))
        for body in bodies:
            stream.run_seq += 1
            prev, (text, stream.id) = stream.id, seal(stream.id, stream.run_seq, body.text)
            entries.append(Entry(0, stream.run_seq, stream.id, prev, name, body.draft, text))
            type, row = body.draft.event.type, body.row(text)
            self._add(name, StoredBody(stream.run_seq, type, stream.id, row, body.data))
        return entries

    def restore(self, name: str, bodies: Sequence[StoredBody]) -> None:
        """Nobody owns what comes from elsewhere."""
        if name in self._streams:
            raise Conflict(f"there is already a run {name!r}")
        end = bodies[-1]
        self._streams[name] = self._moved[name] = _Stream(name, run_seq=end.run_seq, id=end.id)
        self._ends[name] = 0
        for body in bodies:
            self._add(name, body)

    def prune(self, run: str, expected: Version, tombstone: Body) -> list[int]:
        """The list gets the number of entries that were removed."""
        self._existing(run)
        (kept,) = self.append(run, expected, [tombstone])
        removed: list[int] = []
        self._removals.append(partial(_remove_before, kept, removed))
        return removed

    def sweep(self, found: Unnamed) -> list[Swept]:
        """The list gets what was removed."""
        swept: list[Swept] = []
        self._removals.append(partial(artifacts.remove, found, swept))
        return swept

    def claim(self, run: str, owners: tuple[str, str], lease: float) -> Claim:
        """For the first of `owners`; the lease of either of them is no hindrance."""
        stream = self._existing(run)
        if not self._watch.silent(run, stream.sign) and stream.owner not in owners:
            raise Held(run, stream.owner, wait=0.0 if stream.seems_held(self._now) else self._watch.left(run))
        self._hold(stream, owners[0], stream.epoch + 1, lease)
        return Claim(run, owners[0], stream.epoch, live=True)

    def renew(self, claims: Sequence[Claim], lease: float) -> frozenset[str]:
        held = set[str]()
        for claim in claims:
            stream = self._streams.get(claim.run)
            if stream and stream.epoch == claim.epoch:
                self._hold(stream, stream.owner, stream.epoch, lease)
                held.add(claim.run)
        return frozenset(held)

    def release(self, claim: Claim, *, wake: bool) -> None:
        """What is left to a worker is nobody's until one comes."""
        stream = self._streams.get(claim.run)
        if stream and stream.epoch == claim.epoch:
            self._hold(stream, stream.owner, stream.epoch, 0.0)
            if wake:
                stream.owner = ""
                self.wake([claim.run])

    def wake(self, runs: Sequence[str], later: float = 0.0) -> None:
        self._woken.update(dict.fromkeys(runs, later))

    def post(self, run: str, kind: str, body: str, *, wake: bool) -> None:
        if wake and not self._existing(run).seems_held(self._now):
            self.wake([run])
        self._posts.append((run.encode(), kind, body.encode(), os.urandom(16)))

    def take(self, post: Post) -> None:
        self._taken.append(post.id)

    async def add(self, connection: Connection, named: Iterable[str] = ()) -> int | None:
        """Write entries, and nothing else, if their streams still stand as they are remembered and these artifacts are
        there. The position of the last entry before them; None if nothing was written."""
        return await self._insert(connection, named, self._rows) if self._rows else None

    async def write(self, connection: Connection) -> int:
        """Everything that was decided since `look`. Gives the position of the last entry before the new ones."""
        if self._moved:
            await connection.execute(statements.MOVE, columns(map(_stored, self._moved.values()), 6))
        if self._posts:
            await connection.execute(statements.POST, columns(self._posts, 4))
        if self._taken:
            await connection.execute(statements.TAKE, (self._taken,))
        places = [
            await self._insert(connection, (), self._rows[start : start + _ROWS], first=not start)
            for start in range(0, len(self._rows), _ROWS)
        ]
        assert None not in places, "the streams were read under the lock"
        for remove in self._removals:
            await remove(connection)
        if self._woken:
            await wake(connection, self._woken)
        return (places and places[0]) or 0

    async def lost(self, connection: Connection, streams: Iterable[str]) -> set[str]:
        """Those of these streams that somebody else has claimed since a commit that `find` found.

        Whoever wrote to one of them has lost it, though its entries are there: it must not act on them.
        """
        known = {name.encode(): stream.epoch for name in streams if (stream := self._streams.get(name))}
        now = await select(connection, "SELECT name, epoch FROM stream WHERE name = ANY(%s)", [*known])
        return {
            name.decode()
            for name, epoch in now
            if settle_uncertain(found=True, epoch=known[name], now=epoch) == "lost"
        }

    async def find(self, connection: Connection) -> int | None:
        """Whether a commit of which nothing was heard has happened: the position before its first entry if so.

        A claim, a renewal or a take can be repeated, and leaves no trace of its own. It is asked under the lock, and
        whoever does not find it writes under the same one: the server may not have noticed that its client is gone,
        still have to commit, and must then find that it comes too late.
        """
        if self._rows:
            name, run_seq, _, id, *_ = self._rows[-1]
            where = "stream = %s AND run_seq = %s AND id = %s"
            rows = await select(connection, f"SELECT seq FROM entry WHERE {where}", name, run_seq, id)
            return rows[0][0] - len(self._rows) if rows else None
        token = self._posts[-1][-1] if self._posts else b""
        return 0 if await select(connection, "SELECT 1 FROM post WHERE token = %s", token) else None

    def settle(self, last: int) -> None:
        """After the commit: give the entries their positions."""
        for place, entries in self._appended:
            entries[:] = [replace(entry, seq=seq) for seq, entry in enumerate(entries, last + place + 1)]
        self._clear()
        if len(self._streams) > _REMEMBERED:
            self._streams.clear()

    def _add(self, name: str, body: StoredBody) -> None:
        id, data = bytes.fromhex(body.id), body.data or None
        self._rows.append((name.encode(), body.run_seq, body.type, id, body.text, data))

    async def _insert(
        self, connection: Connection, named: Iterable[str], rows: Sequence[_Row], *, first: bool = True
    ) -> int | None:
        """How the streams stand is looked at with the first rows: the others follow in the same transaction."""
        ends = self._ends.items() if first else ()
        known = [(name.encode(), self._streams[name].epoch, end) for name, end in ends]
        ids = [*map(bytes.fromhex, named)]
        found = await select(connection, statements.ADD, LATEST, ids, *columns(known, 3), *columns(rows, 6))
        return found[0][0] if found else None

    def _hold(self, stream: _Stream, owner: str, epoch: int, lease: float) -> None:
        stream.owner, stream.epoch, stream.lease = owner, epoch, lease
        stream.renewal += 1
        stream.renewed = self._now
        self._moved[stream.name] = stream

    def _existing(self, run: str) -> _Stream:
        if run not in self._streams:
            raise NotFound(f"there is no run {run!r}", code="run_not_found")
        return self._streams[run]


class _Stream(msgspec.Struct):
    name: str
    owner: str = ""
    epoch: int = 0
    lease: float = 0.0
    renewal: int = 0
    renewed: float = 0.0
    run_seq: int = 0
    id: str = ORIGIN

    @property
    def sign(self) -> Sign:
        return Sign(self.owner, self.epoch, self.renewal, self.lease)

    def seems_held(self, now: float) -> bool:
        """By the server's clock, which may have been set: nothing but a wait is saved by it."""
        return abs(now - self.renewed) < self.lease


_Row = tuple[bytes, int, str, bytes, bytes, bytes | None]


def _stored(stream: _Stream) -> tuple[object, ...]:
    held = stream.lease, stream.renewal, stream.renewed
    return stream.name.encode(), stream.owner, stream.epoch, *held


async def _remove_before(kept: Entry, removed: list[int], connection: Connection) -> None:
    run = kept.stream.encode()
    gone = await connection.execute(
        "DELETE FROM entry WHERE stream = %s AND run_seq < %s", (run, kept.run_seq)
    )
    removed.append(gone.rowcount)
    await connection.execute("DELETE FROM post WHERE run = %s", (run,))
