"""Where in a journal things stand: by work session, agent, session, step, role, type and time.

A file of its own beside the journal, whichever that is, brought up to date when somebody looks. So looking costs a run
nothing, and the file can be deleted at any time: it is made anew.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from folkmoot.domain.entry import Entry, role_of
from folkmoot.domain.work_session import ASIDE
from folkmoot.errors import OperationFailed
from folkmoot.journal.database import FOLDER
from folkmoot.ports import Filter, Journal, Query, Stored

FILE = "index.db"
_VERSION = 1
_PART = 2_000
"""Entries that are taken in at a time."""
_FIELDS = ("work_session", "stream", "session", "agent", "step", "role", "type", "ts")
_SCHEMA = (
    f"CREATE TABLE place (seq INTEGER PRIMARY KEY, {', '.join(f'{name} TEXT NOT NULL' for name in _FIELDS)})",
    *(f"CREATE INDEX place_by_{name} ON place ({name}, seq)" for name in _FIELDS),
    "CREATE TABLE taken (seq INTEGER NOT NULL, id TEXT NOT NULL)",
    "INSERT INTO taken VALUES (0, '')",
    f"PRAGMA user_version = {_VERSION}",
)

_RANGE = "work_session >= ? AND work_session < ?"
_WORK_SESSIONS = f"""SELECT work_session FROM place WHERE ({_RANGE} OR {_RANGE}) AND work_session != ''
GROUP BY work_session ORDER BY max(CASE WHEN type IN ({",".join("?" * len(ASIDE))}) THEN '' ELSE ts END)"""


class Index:
    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        self._connection = connection
        self._path = path
        self._steps: dict[str, str] = {}
        """The step that each run was started for."""
        self._checked = False

    @classmethod
    def open(cls, project: Path | None) -> Self:
        """In `project/.folkmoot`; in memory without a project, or where nobody may write."""
        path = project / FOLDER / FILE if project and (project / FOLDER).is_dir() else None
        if path:
            try:
                return cls(_prepared(path), path)
            except (sqlite3.Error, OSError):
                path.unlink(missing_ok=True)
        try:
            return cls(_prepared(path), path)
        except sqlite3.Error:
            return cls(_prepared(None), None)

    async def find(self, journal: Journal, wanted: Filter) -> list[Entry]:
        """The newest entries that fit, or the oldest."""
        try:
            await self._catch_up(journal)
            return await self._find(journal, wanted)
        except sqlite3.Error as error:
            place = f"{self._path}: delete it, it is made anew" if self._path else "the index"
            raise OperationFailed(f"{place}: {error}") from error

    async def work_sessions(self, journal: Journal, beginning: str = "") -> list[str]:
        """Those whose ids begin so, with `ws_` or without; where something happened last comes last."""
        await self._catch_up(journal)
        values = [each for begin in (beginning, f"ws_{beginning}") for each in (begin, begin + "\U0010ffff")]
        return [id for (id,) in self._connection.execute(_WORK_SESSIONS, (*values, *ASIDE))]

    def close(self) -> None:
        self._connection.close()

    async def _find(self, journal: Journal, wanted: Filter) -> list[Entry]:
        found: list[Entry] = []
        while len(found) < wanted.limit:
            seqs = self._seqs(wanted, wanted.limit - len(found))
            if not seqs:
                break
            here = Query(seqs=seqs, after=min(seqs) - 1, newest_first=not wanted.oldest_first)
            found += [entry async for entry in journal.read(here)]  # fewer, if some were pruned
            beyond = {"after" if wanted.oldest_first else "before": seqs[-1]}
            wanted = replace(wanted, **beyond)
        return found

    def _seqs(self, wanted: Filter, limit: int) -> tuple[int, ...]:
        conditions, values = _conditions(wanted)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        order = "ASC" if wanted.oldest_first else "DESC"
        rows = self._connection.execute(
            f"SELECT seq FROM place{where} ORDER BY seq {order} LIMIT ?", (*values, limit)
        )
        return tuple(seq for (seq,) in rows)

    async def _catch_up(self, journal: Journal) -> None:
        await self._check(journal)
        part: list[Stored] = []
        async for stored in journal.stored(Query(after=self._taken()[0])):
            part.append(stored)
            if len(part) == _PART:
                self._take(part)
                part = []
                await asyncio.sleep(0)
        if part:
            self._take(part)

    async def _check(self, journal: Journal) -> None:
        """Begin anew if this is not the journal that was taken in: it may have been put back to a copy."""
        seq, id = self._taken()
        if self._checked or not seq:
            return
        self._checked = True
        if [stored.id async for stored in journal.stored(Query(after=seq - 1, limit=1))] != [id]:
            with _transaction(self._connection):
                self._connection.execute("DELETE FROM place")
                self._connection.execute("UPDATE taken SET seq = 0, id = ''")

    def _taken(self) -> tuple[int, str]:
        seq, id = self._connection.execute("SELECT seq, id FROM taken").fetchone()
        return seq, id

    def _take(self, part: list[Stored]) -> None:
        """Another process may be taking in the same: what it has is left as it is."""
        with _transaction(self._connection):
            rows = [row for row in map(self._row, part) if row]
            marks = ",".join("?" * (1 + len(_FIELDS)))
            self._connection.executemany(f"INSERT OR IGNORE INTO place VALUES ({marks})", rows)
            last = part[-1]
            self._connection.execute(
                "UPDATE taken SET seq = ?, id = ? WHERE seq < ?", (last.seq, last.id, last.seq)
            )

    def _row(self, stored: Stored) -> tuple[Any, ...] | None:
        try:
            text = _TEXT.decode(stored.text)
            more = _MORE.decode(text.data) if stored.type.startswith(_TELLING) else _NOTHING
        except msgspec.DecodeError:
            return None  # damage is the business of `verify`
        step = more.step or more.errand.step
        if stored.run_seq == 1:
            self._steps[stored.stream] = step
        return (
            stored.seq,
            text.work_session_id or "",
            stored.stream,
            text.session_id or "",
            text.agent_id or "",
            step or self._step_of(stored.stream),
            role_of(stored.type, text.span or "", main=more.main),
            stored.type,
            text.ts,
        )

    def _step_of(self, stream: str) -> str:
        if stream not in self._steps:
            first = "SELECT step FROM place WHERE stream = ? ORDER BY seq LIMIT 1"
            row = self._connection.execute(first, (stream,)).fetchone()
            self._steps[stream] = row[0] if row else ""
        return self._steps[stream]


def _conditions(wanted: Filter) -> tuple[list[str], list[Any]]:
    exact = {
        "work_session": wanted.work_session,
        "stream": wanted.run,
        "session": wanted.session,
        "agent": wanted.agent,
        "step": wanted.step,
        "role": wanted.role,
    }
    conditions = [f"{name} = ?" for name, value in exact.items() if value]
    values: list[Any] = [value for value in exact.values() if value]
    if wanted.types:
        conditions.append("(" + " OR ".join("type GLOB ?" for _ in wanted.types) + ")")
        values += wanted.types
    if wanted.since:
        conditions.append("ts >= ?")
        values.append(wanted.since)
    if wanted.until:
        conditions.append("ts < ?")
        values.append(wanted.until)
    if wanted.before:
        conditions.append("seq < ?")
        values.append(wanted.before)
    if wanted.after:
        conditions.append("seq > ?")
        values.append(wanted.after)
    return conditions, values


def _prepared(path: Path | None) -> sqlite3.Connection:
    connection = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=30.0)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # what a power cut takes is taken in again
        if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            with _transaction(connection):
                if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                    connection.execute("DROP TABLE IF EXISTS place")
                    connection.execute("DROP TABLE IF EXISTS taken")
                    for statement in _SCHEMA:
                        connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class _Text(msgspec.Struct, rename="camel", gc=False):
    ts: str
    data: msgspec.Raw
    session_id: str | None = None
    span: str | None = None
    agent_id: str | None = None
    work_session_id: str | None = None


class _Sent(msgspec.Struct, frozen=True, gc=False):
    step: str = ""


class _More(msgspec.Struct, frozen=True, gc=False):
    main: bool = False
    step: str = ""
    errand: _Sent = _Sent()


_NOTHING = _More()
_TELLING = ("a2a.", "step.", "run.started")
"""Events whose data say more than their envelope."""
_TEXT = msgspec.json.Decoder(_Text)
_MORE = msgspec.json.Decoder(_More)
