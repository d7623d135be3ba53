"""A copy of a project's whole journal as one file, made while others go on writing to it.

It is a database like the journal's own, with the large artifacts as rows too: `SqliteJournal.open_copy` reads it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from folkmoot.errors import OperationFailed
from folkmoot.journal.database import FILE, FOLDER, connect_readonly, explain
from folkmoot.journal.files import written_whole

_PAGES = 2_000
"""Copied at a time."""


def back_up(project: Path, target: Path, told: Callable[[float], None] = lambda part: None) -> int:
    """Its size. The copy is of one moment; `told` learns how much of it is done, from 0 to 1."""
    path = project / FOLDER / FILE
    source = connect_readonly(path)
    try:
        with written_whole(target) as place:
            copy = sqlite3.connect(place)
            try:
                # Without a transaction of its own, the copy would begin anew whenever somebody writes.
                source.execute("BEGIN")
                source.execute("SELECT count(*) FROM release").fetchone()
                source.backup(
                    copy, pages=_PAGES, progress=lambda _, left, total: told(1 - left / max(total, 1))
                )
                source.execute("ROLLBACK")
                _take_along(copy, path.parent / "artifacts")
                copy.execute("PRAGMA journal_mode = DELETE")  # so that it stays one file when it is opened
            finally:
                copy.close()
            return place.stat().st_size
    except sqlite3.Error as error:
        raise explain(error, path, source) from error
    finally:
        source.close()


def _take_along(copy: sqlite3.Connection, artifacts: Path) -> None:
    """The large artifacts. None that the copy names can be missing: what it names was written before it."""
    for file in sorted(artifacts.glob("??/" + "?" * 64)):
        try:
            content, kept = file.read_bytes(), file.stat().st_mtime
        except FileNotFoundError:
            continue  # nobody named it any more
        except OSError as error:
            raise OperationFailed(f"cannot read {file}: {error.strerror}") from error
        copy.execute(
            "INSERT OR IGNORE INTO artifact (id, content, kept) VALUES (?, ?, ?)",
            (bytes.fromhex(file.name), content, kept),
        )
        copy.commit()
