"""Content by its hash: up to 64 KB in the database, larger as a file of its own. Never changed, never doubled, and
removed when no entry names it any more. And what a journal holds before it is written."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, assert_never

import msgspec
from msgspec.structs import replace

from folkmoot.domain.catalogue import MENTIONED
from folkmoot.domain.entry import Draft
from folkmoot.domain.value import Value
from folkmoot.errors import Conflict, JournalDamaged, OperationFailed, StaleOwner
from folkmoot.journal.codec import LIMIT, data_in, data_of, encode, hash_of
from folkmoot.journal.database import make_durable_folder, sync_folder, write_durably
from folkmoot.ports import Epoch, NewRun, Stored, Swept, Version

_REMOVED = 1_000
"""Artifacts at a time."""
_ID = re.compile(r"[0-9a-f]{64}")


def store_file(folder: Path, id: str, content: bytes) -> None:
    """Write large content so that it is durable before an entry names it."""
    path = path_of(folder, id)
    make_durable_folder(path.parent.parent)
    make_durable_folder(path.parent)
    if path.exists():
        sync_folder(path.parent)  # another process may have renamed it and died before it did this
    else:
        write_durably(path, content)


def store_row(connection: sqlite3.Connection, id: str, content: bytes, at: float) -> None:
    """Write content inside the caller's transaction."""
    connection.execute(
        "INSERT INTO artifact (id, content, kept) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
        f" kept = excluded.kept WHERE kept < excluded.kept - {REFRESH}",
        (bytes.fromhex(id), content, at),
    )


def confirm_file(folder: Path, id: str, content: bytes, at: float) -> None:
    """Inside the caller's transaction: nobody removes large content now, and it will be young for a while."""
    path = path_of(folder, id)
    if not path.exists():  # it was swept after `store_file` found it
        store_file(folder, id, content)
    os.utime(path, (at, at))


def fetch_row(connection: sqlite3.Connection, id: str) -> bytes | None:
    """Small content. Raises KeyError for what cannot be an id, JournalDamaged for content that has
    changed."""
    if not _ID.fullmatch(id):
        raise KeyError(id)
    row = connection.execute("SELECT content FROM artifact WHERE id = ?", (bytes.fromhex(id),)).fetchone()
    return sound(id, row[0], "the database") if row else None


def fetch_file(folder: Path, id: str) -> bytes:
    """Large content. Raises KeyError when nobody kept it, JournalDamaged for content that has changed."""
    path = path_of(folder, id)
    try:
        return sound(id, path.read_bytes(), str(path))
    except FileNotFoundError:
        raise KeyError(id) from None


def sound(id: str, content: object, place: str) -> bytes:
    """Content that was found, if it is what was kept."""
    if not isinstance(content, bytes) or hash_of(content) != id:  # a damaged row may hold anything
        raise JournalDamaged(f"artifact {id} in {place}: its content does not match its hash")
    return content


def path_of(folder: Path, id: str) -> Path:
    return folder / "artifacts" / id[:2] / id


class Unnamed(Value):
    """Artifacts that no entry mentioned when they were looked for."""

    ids: set[str]
    before: float
    """All of them were kept earlier, by the clock that says when something was kept."""
    seq: int
    """How far the entries were looked at."""

    def parts(self) -> Iterator[Unnamed]:
        """Each to be removed in a moment: while that lasts, nobody writes."""
        ids = sorted(self.ids)
        for start in range(0, len(ids), _REMOVED):
            yield replace(self, ids=set(ids[start : start + _REMOVED]))


def unnamed(connection: sqlite3.Connection, folder: Path, before: float) -> Unnamed:
    """Of the artifacts kept before this time. Takes as long as reading the whole journal."""
    rows = connection.execute("SELECT id FROM artifact WHERE kept < ?", (before,))
    ids = {row[0].hex() for row in rows} | _files(folder, before)
    return Unnamed(ids, before, _strike(connection, folder, ids, 0))


def remove(connection: sqlite3.Connection, folder: Path, found: Unnamed) -> Swept:
    """Inside the caller's transaction: no entry can be added now, and nothing be kept again."""
    ids, before = set(found.ids), found.before
    _strike(connection, folder, ids, found.seq)
    count = size = 0
    for id in ids:
        key = (bytes.fromhex(id), before)
        row = connection.execute("SELECT length(content) FROM artifact WHERE id = ? AND kept < ?", key)
        if kept := row.fetchone():
            connection.execute("DELETE FROM artifact WHERE id = ?", key[:1])
            count, size = count + 1, size + kept[0]
        else:
            freed = _unlink(path_of(folder, id), before)
            count, size = count + bool(freed), size + freed
    return Swept(count, size)


def _strike(connection: sqlite3.Connection, folder: Path, ids: set[str], after: int) -> int:
    """Take whatever the entries after this one mention off the list; the last entry that was looked at."""
    last = after
    for seq, text, data in connection.execute("SELECT seq, text, data FROM entry WHERE seq > ?", (after,)):
        last = seq
        if not ids:
            continue
        _forget(ids, MENTIONED.findall(text, 75))  # behind `prev`, which is never an artifact
        if data is not None:
            _forget(ids, [data.hex().encode(), *_within(connection, folder, data.hex())])
    return last


def _within(connection: sqlite3.Connection, folder: Path, id: str) -> list[bytes]:
    """What the data of a large event mentions."""
    try:
        content = fetch_row(connection, id)
        found: list[bytes] = MENTIONED.findall(fetch_file(folder, id) if content is None else content)
    except KeyError:
        return []
    return found


def _forget(ids: set[str], mentioned: Iterable[bytes]) -> None:
    ids.difference_update(id.decode() for id in mentioned)


def _files(folder: Path, before: float) -> set[str]:
    return {
        file.name
        for file in (folder / "artifacts").glob("??/*")
        if len(file.name) == 64 and file.stat().st_mtime < before
    }


def _unlink(file: Path, before: float) -> int:
    """The bytes that were freed."""
    try:
        found = file.stat()
        if found.st_mtime >= before:
            return 0
        file.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise OperationFailed(f"cannot remove {file}: {error.strerror}") from error
    return found.st_size


_REMEMBERED = 1_000
REFRESH = 600.0
"""Seconds after which content that is kept again counts as new; sooner, a write would be wasted. Whoever sweeps leaves
alone what was kept in a far longer time than this."""


class Body(msgspec.Struct, frozen=True, gc=False):
    """A draft that is encoded and waits for its place."""

    draft: Draft
    text: bytes
    data: bytes = b""
    """The hash of the event's JSON when that is too large to stand in the row."""
    data_size: int = 0

    def row(self, text: bytes) -> bytes:
        """What of the sealed text stands in the row."""
        return text[: -self.data_size - 1] if self.data else text


class StoredBody(msgspec.Struct, frozen=True, gc=False):
    """An entry that another journal wrote; `text` and `data` as they stand in the row."""

    run_seq: int
    type: str
    id: str
    text: bytes
    data: bytes = b""


Content = tuple[str, bytes]
"""Its id and itself."""


class Contents:
    """Contents go with the next job and cost no commit of their own. What was durable once is sent again after a while:
    it may grow old and be swept."""

    def __init__(self, monotonic: Callable[[], float] | None = None) -> None:
        """Without a clock everything is sent again: other hosts may sweep by clocks of their own."""
        self._monotonic = monotonic
        self._durable: dict[str, float] = {}
        """The latest that are, and when they were kept: as long as they are young, keeping them again is nothing."""
        self._waiting: dict[str, bytes] = {}
        """Those that are not durable yet, by id."""
        self._unsent: list[Content] = []
        """Those of them that the writer does not have yet."""

    def keep(self, content: bytes) -> str:
        id = hash_of(content)
        if id not in self._waiting and not self._is_young(id):
            self._waiting[id] = content
            self._unsent.append((id, content))
        return id

    def get(self, id: str) -> bytes | None:
        """Content that waits."""
        return self._waiting.get(id)

    def body(self, stream: str, draft: Draft) -> Body:
        text = encode(stream, draft)
        if len(text) <= LIMIT or len(data := data_of(draft)) <= LIMIT:
            return Body(draft, text)
        return Body(draft, text, bytes.fromhex(self.keep(data)), len(data))

    def stored_body(self, entry: Stored) -> StoredBody:
        data = data_in(entry.text) if len(entry.text) > LIMIT else b""
        if len(data) <= LIMIT:
            return StoredBody(entry.run_seq, entry.type, entry.id, entry.text)
        text, id = entry.text[: -len(data) - 1], self.keep(data)
        return StoredBody(entry.run_seq, entry.type, entry.id, text, bytes.fromhex(id))

    @property
    def unsent(self) -> bool:
        return bool(self._unsent)

    def hand_over(self) -> list[Content]:
        """To the writer, which settles them."""
        contents, self._unsent = self._unsent, []
        return contents

    def settle(self, contents: Sequence[Content], *, written: bool) -> None:
        if not written:
            self._unsent += contents
            return
        for id, _ in contents:
            del self._waiting[id]
            if self._monotonic:
                self._durable.pop(id, None)
                self._durable[id] = self._monotonic()
        while len(self._durable) > _REMEMBERED:
            del self._durable[next(iter(self._durable))]

    def _is_young(self, id: str) -> bool:
        kept = self._durable.get(id)
        return kept is not None and self._monotonic is not None and self._monotonic() - kept < REFRESH


LONGEST_LEASE = 60.0
"""Seconds; nobody asks for more."""


def is_live(until: float, now: float) -> bool:
    """Whether a lease holds. One that ends later than any can is from before the machine, and its time, began anew."""
    return now < until <= now + LONGEST_LEASE


def check(stream: str, expected: NewRun | Epoch | Version, epoch: int, run_seq: int | None) -> None:
    """Refuse what does not fit a stream with this epoch (0: never owned) and this end (None: no stream)."""
    match expected:
        case Epoch():
            if expected.number != epoch or not epoch:
                raise StaleOwner(
                    f"run {stream!r} is at epoch {epoch}; what was begun under {expected.number} is void"
                )
        case NewRun():
            if run_seq is not None:
                raise Conflict(f"there is already a run {stream!r}")
        case Version():
            if expected.number != (run_seq or 0):
                raise Conflict(
                    f"{stream!r} is at version {run_seq or 0}, not {expected.number}; read it again and retry"
                )
        case _:
            assert_never(expected)


async def whole_entry(row: Sequence[Any], stream: str, artifact: Callable[[str], Awaitable[bytes]]) -> Stored:
    """A row of the entries, with its data where that lies beside it."""
    seq, _, run_seq, type, id, text, data = row
    fault = ""
    if data is not None:
        try:
            text += await artifact(data.hex()) + b"}"
        except KeyError:
            text, fault = b"", f"the artifact {data.hex()} with its data is missing"
        except JournalDamaged as error:
            text, fault = b"", str(error)
    return Stored(seq, stream, run_seq, type, id.hex(), text, fault)
