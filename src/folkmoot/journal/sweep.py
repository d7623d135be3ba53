"""Finds and removes the artifacts of a database that no entry names any more."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from folkmoot.domain.catalogue import MENTIONED
from folkmoot.domain.value import Value
from folkmoot.errors import OperationFailed
from folkmoot.journal.artifacts import fetch_file, fetch_row, path_of
from folkmoot.journal.database import connect_readonly
from folkmoot.ports import Swept


class Unnamed(Value):
    """What nobody named when it was looked for."""

    ids: set[str]
    seq: int
    """How far the entries were looked at."""


def unnamed(path: Path, before: float) -> Unnamed:
    """Of the artifacts kept before this Unix time. Takes as long as reading the whole journal."""
    connection = connect_readonly(path)
    try:
        rows = connection.execute("SELECT id FROM artifact WHERE kept < ?", (before,))
        ids = {row[0].hex() for row in rows} | _files(path.parent, before)
        return Unnamed(ids, _strike(connection, path.parent, ids, 0))
    finally:
        connection.close()


def remove(connection: sqlite3.Connection, path: Path, found: Unnamed, before: float) -> Swept:
    """Inside the caller's transaction: no entry can be added now, and nothing be kept again."""
    folder, ids = path.parent, set(found.ids)
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
