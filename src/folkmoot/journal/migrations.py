"""Brings the database of an older release up to date: numbered steps, each a transaction, a backup before
each."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from folkmoot.errors import JournalDamaged, JournalTooNew, OperationFailed
from folkmoot.journal.database import begin
from folkmoot.journal.files import sync_folder

APPLICATION = 0x466F6C6B
"""Marks a SQLite file as a journal of Folkmoot (`Folk`)."""


class Migration(msgspec.Struct, frozen=True):
    version: int
    script: str


def known_migrations(folder: Path = Path(__file__).parent) -> tuple[Migration, ...]:
    """Those of this release: `0001_<what>.sql` and so on, beside the code that needs them."""
    files = sorted(folder.glob("[0-9]*.sql"))
    return tuple(Migration(int(file.name[:4]), file.read_text("utf-8")) for file in files)


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration]) -> None:
    """Apply what is missing. Of several processes that try at once, one does it and the others wait."""
    latest = migrations[-1].version
    before = check_version(connection, path, latest)
    if before == latest:
        return
    for migration in migrations:
        begin(connection)
        try:
            version = check_version(connection, path, latest)
            if version < migration.version:
                if before:
                    _back_up(path, version)
                for statement in statements_of(migration.script):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {migration.version}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def check_version(connection: sqlite3.Connection, path: Path, latest: int) -> int:
    """The version of the file; refuses one that is not ours or too new."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if application != APPLICATION and not (empty and version == 0):
        raise JournalDamaged(f"{path}: byte 68: a SQLite file, but not one that Folkmoot wrote")
    if version > latest:
        raise JournalTooNew(
            f"{path} has version {version}, this release knows versions up to {latest};"
            f" it needs Folkmoot {_release_for(connection, version)} or newer"
        )
    return version


def _release_for(connection: sqlite3.Connection, version: int) -> str:
    row = connection.execute("SELECT needs FROM release WHERE version = ?", (version,)).fetchone()
    return str(row[0]) if row else f"with journal version {version}"


def _back_up(path: Path, version: int) -> None:
    """Copy what is committed to `folkmoot.db.v<version>.bak`. The caller's lock keeps it from changing."""
    target = path.with_name(f"{path.name}.v{version}.bak")
    unfinished = target.with_name(target.name + ".tmp")
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600))
        source, copy = sqlite3.connect(path), sqlite3.connect(unfinished)
        try:
            source.backup(copy)
        finally:
            copy.close()
            source.close()
        unfinished.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        raise OperationFailed(
            f"cannot make the backup {target}: {error.strerror}; nothing was changed"
        ) from error


def statements_of(script: str) -> Iterator[str]:
    statement = ""
    for part in script.split(";")[:-1]:
        statement += part + ";"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
