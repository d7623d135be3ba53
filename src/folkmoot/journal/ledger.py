"""What happens inside a transaction. Every method checks first and writes after, so that a refused one leaves
nothing behind and its neighbours in the same transaction do not notice.

Where streams end and who owns them is remembered between transactions. That is safe because `PRAGMA
data_version`, asked under the lock for writing, tells whether any other connection wrote since; then all of
it is forgotten.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from folkmoot.domain.entry import Entry
from folkmoot.domain.read_model import APPLIED, is_record
from folkmoot.errors import Conflict, Held, NotFound
from folkmoot.journal.artifacts import (
    Body,
    StoredBody,
    Unnamed,
    check,
    is_live,
    remove,
)
from folkmoot.journal.codec import ORIGIN, seal
from folkmoot.journal.database import check_version
from folkmoot.journal.tables import StoredTables
from folkmoot.ports import Claim, Epoch, NewRun, Post, Swept, Version

_ROWS = 64
"""Entries per statement. Each statement gives up the interpreter's lock and must queue for it again."""
_REMEMBERED = 10_000


class Ledger:
    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        monotonic: Callable[[], float],
        tables: StoredTables | None = None,
        version: int = 0,
    ) -> None:
        """`tables` are those of the read model that are to follow in the same transaction; `version` is the newest of
        the database that this release can write to."""
        self._connection = connection
        self._path = path
        self._monotonic = monotonic
        self._tables = tables
        self._version = version
        self._data_version = 0
        self._seq = 0
        self._streams: dict[str, _Stream] = {}
        self._rows: list[Any] = []
        """Columns of entries to write, one after the other. They hold neither bytes nor None: for each of those
        `sqlite3` looks for an adapter, which takes longer than all the rest of the binding."""
        self._large: list[tuple[Any, ...]] = []
        """Entries whose data lies beside them."""
        self._unapplied: list[Entry] = []
        """Entries whose rows of the read model are stored with them."""
        self._applied: int | None = None
        """The position of the read model if that follows from all entries before those; otherwise the next reader's
        business."""

    def begin(self) -> None:
        """Forget what another process may have changed. The caller holds the lock."""
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._data_version or len(self._streams) > _REMEMBERED:
            if self._version:
                check_version(self._connection, self._path, self._version)
            self._streams.clear()
            self._seq = self._connection.execute("SELECT ifnull(max(seq), 0) FROM entry").fetchone()[0]
            self._data_version = version
            position = self._tables.position if self._tables else None
            self._applied = position if position == self._seq else None

    def append(self, stream: str, expected: NewRun | Epoch | Version, bodies: Sequence[Body]) -> list[Entry]:
        known = self._streams.get(stream) or self._find(stream)
        if known is None:
            check(stream, expected, 0, None)
            held = (
                (expected.owner, 1, self._until(expected.lease))
                if isinstance(expected, NewRun)
                else ("", 0, 0.0)
            )
            known = self._create(stream, *held)
        else:
            check(stream, expected, known.epoch, known.run_seq)
        return [self._add(stream, known, body) for body in bodies]

    def restore(self, stream: str, bodies: Sequence[StoredBody]) -> None:
        """Nobody owns what comes from elsewhere."""
        if self._streams.get(stream) or self._find(stream):
            raise Conflict(f"there is already a run {stream!r}")
        known = self._create(stream, "", 0, 0.0)
        self._applied = None
        for body in bodies:
            self._seq += 1
            known.run_seq, known.id = body.run_seq, body.id
            place = (self._seq, known.number, body.run_seq, body.type, bytearray.fromhex(body.id))
            if body.data:
                self._large.append((*place, body.text, body.data))
            else:
                self._rows += (*place, bytearray(body.text))

    def prune(self, run: str, expected: Version, tombstone: Body) -> list[int]:
        """How many entries were removed."""
        number = self._existing(run).number
        self.flush()
        kept = self.append(run, expected, [tombstone])[0]
        self._connection.execute("DELETE FROM post WHERE run = ?", (run,))
        removed = "DELETE FROM entry WHERE stream = ? AND seq < ?"
        return [self._connection.execute(removed, (number, kept.seq)).rowcount]

    def sweep(self, found: Unnamed) -> list[Swept]:
        return [remove(self._connection, self._path.parent, found)]

    def flush(self) -> int:
        """Write the entries that were added since `begin`; their size."""
        rows, self._rows = self._rows, []
        step = _ROWS * _COLUMNS
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            self._connection.execute(_insert(len(part) // _COLUMNS), part)
        large, self._large = self._large, []
        if large:
            self._connection.executemany("INSERT INTO entry VALUES (?,?,?,?,?,?,?)", large)
        self._apply()
        return sum(map(len, rows[_COLUMNS - 1 :: _COLUMNS])) + sum(len(row[-2]) for row in large)

    def _apply(self) -> None:
        entries, self._unapplied = self._unapplied, []
        if self._tables and self._applied is not None and self._applied != self._seq:
            try:
                changes = self._tables.fold(entries, self._applied, self._seq)
            # Whatever is wrong with the rows, the entries count; who reads is told.
            except Exception:
                self._applied = None
            else:
                self._tables.store(changes, self._seq)
                self._applied = self._seq

    def claim(self, run: str, owners: tuple[str, str], lease: float) -> Claim:
        """For the first of `owners`; the lease of either of them is no hindrance."""
        owner = owners[0]
        stream = self._existing(run)
        holder, holds = self._connection.execute(
            "SELECT owner, until FROM stream WHERE number = ?", (stream.number,)
        ).fetchone()
        if holder not in owners and is_live(holds, self._monotonic()):
            raise Held(run, holder)
        stream.epoch += 1
        self._connection.execute(
            "UPDATE stream SET owner = ?, epoch = ?, until = ? WHERE number = ?",
            (owner, stream.epoch, self._until(lease), stream.number),
        )
        return Claim(run, owner, stream.epoch, live=True)

    def renew(self, claims: Sequence[Claim], lease: float) -> frozenset[str]:
        return self._hold(claims, self._until(lease))

    def release(self, claim: Claim, *, wake: bool) -> None:
        self._hold([claim], 0.0)

    def _hold(self, claims: Sequence[Claim], until: float) -> frozenset[str]:
        update = "UPDATE stream SET until = ? WHERE name = ? AND epoch = ?"
        return frozenset(
            claim.run
            for claim in claims
            if self._connection.execute(update, (until, claim.run, claim.epoch)).rowcount
        )

    def post(self, run: str, kind: str, body: str, *, wake: bool) -> None:
        self._existing(run)
        self._connection.execute("INSERT INTO post (run, kind, body) VALUES (?, ?, ?)", (run, kind, body))

    def take(self, post: Post) -> None:
        self._connection.execute("DELETE FROM post WHERE id = ?", (post.id,))

    def _add(self, name: str, stream: _Stream, body: Body) -> Entry:
        prev, draft = stream.id, body.draft
        seq = self._seq = self._seq + 1
        run_seq = stream.run_seq = stream.run_seq + 1
        text, id = seal(prev, run_seq, body.text)
        stream.id = id
        place = (seq, stream.number, run_seq, draft.event.type, bytearray.fromhex(id))
        if body.data:
            self._large.append((*place, body.row(text), body.data))
        else:
            self._rows += (*place, bytearray(text))
        entry = Entry(seq, run_seq, id, prev, name, draft, text)
        if draft.event.type in APPLIED or is_record(name):
            self._unapplied.append(entry)
        return entry

    def _until(self, lease: float) -> float:
        return self._monotonic() + lease

    def _find(self, name: str) -> _Stream | None:
        row = self._connection.execute("SELECT number, epoch FROM stream WHERE name = ?", (name,)).fetchone()
        if row is None:
            return None
        number, epoch = row
        end = self._connection.execute(
            "SELECT run_seq, id FROM entry WHERE stream = ? ORDER BY seq DESC LIMIT 1", (number,)
        ).fetchone()
        run_seq, id = (end[0], end[1].hex()) if end else (0, ORIGIN)
        found = self._streams[name] = _Stream(number, epoch, run_seq, id)
        return found

    def _existing(self, run: str) -> _Stream:
        stream = self._streams.get(run) or self._find(run)
        if stream is None:
            raise NotFound(f"there is no run {run!r}", code="run_not_found")
        return stream

    def _create(self, name: str, owner: str, epoch: int, until: float) -> _Stream:
        number = self._connection.execute(
            "INSERT INTO stream (name, owner, epoch, until) VALUES (?, ?, ?, ?)", (name, owner, epoch, until)
        ).lastrowid
        assert number is not None
        created = self._streams[name] = _Stream(number, epoch, 0, ORIGIN)
        return created


class _Stream(msgspec.Struct):
    number: int
    epoch: int
    run_seq: int
    id: str


_COLUMNS = 6


def _insert(rows: int) -> str:
    if rows not in _INSERTS:
        values = ",".join(["(?,?,?,?,?,?)"] * rows)
        _INSERTS[rows] = f"INSERT INTO entry (seq, stream, run_seq, type, id, text) VALUES {values}"
    return _INSERTS[rows]


_INSERTS: dict[int, str] = {}
