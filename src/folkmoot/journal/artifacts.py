"""Content by its hash: up to 64 KB in the database, larger as a file of its own. Never changed, never doubled, and
removed when no entry names it any more."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from folkmoot.domain.catalogue import MENTIONED
from folkmoot.domain.value import Value
from folkmoot.errors import JournalDamaged, OperationFailed
from folkmoot.journal.codec import hash_of
from folkmoot.journal.contents import REFRESH
from folkmoot.journal.files import make_durable_folder, sync_folder, write_durably
from folkmoot.ports import Swept

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
