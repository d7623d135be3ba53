"""Content by its hash: up to 64 KB in the database, larger as a file of its own. Never changed, never
doubled."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path

from folkmoot.errors import JournalDamaged
from folkmoot.journal.codec import LIMIT, hash_of
from folkmoot.journal.contents import REFRESH
from folkmoot.journal.files import make_durable_folder, sync_folder, write_durably

_ID = re.compile(r"[0-9a-f]{64}")


def store_file(folder: Path, id: str, content: bytes) -> None:
    """Write large content so that it is durable before an entry names it. Small content is for
    `store_row`."""
    if len(content) <= LIMIT:
        return
    path = path_of(folder, id)
    make_durable_folder(path.parent.parent)
    make_durable_folder(path.parent)
    if path.exists():
        sync_folder(path.parent)  # another process may have renamed it and died before it did this
    else:
        write_durably(path, content)


def store_row(connection: sqlite3.Connection, id: str, content: bytes, at: float) -> None:
    """Write small content inside the caller's transaction."""
    if len(content) <= LIMIT:
        connection.execute(
            "INSERT INTO artifact (id, content, kept) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            f" kept = excluded.kept WHERE kept < excluded.kept - {REFRESH}",
            (bytes.fromhex(id), content, at),
        )


def confirm_file(folder: Path, id: str, content: bytes, at: float) -> None:
    """Inside the caller's transaction: nobody removes large content now, and it will be young for a while."""
    if len(content) > LIMIT:
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
