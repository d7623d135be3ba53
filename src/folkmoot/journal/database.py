"""The folder and the database file of a project's journal: made private, opened durably, brought up to date by numbered
steps, each a transaction with a backup before it; and what its errors mean.

Nothing here or elsewhere may open the database file but SQLite: closing any other descriptor of it would
silently drop the locks that this process holds on it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import quote

import msgspec

from folkmoot.errors import FolkmootError, JournalDamaged, JournalTooNew, OperationFailed
from folkmoot.journal.files import make_durable_folder, sync_folder

FOLDER, FILE = ".folkmoot", "folkmoot.db"
PATIENCE = 30.0
"""Seconds to queue for the lock of another process."""

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_MISMATCH)
_AS_CODE = {
    errno.ENOSPC: sqlite3.SQLITE_FULL,
    errno.EDQUOT: sqlite3.SQLITE_FULL,
    errno.EIO: sqlite3.SQLITE_IOERR,
}
"""What the system says about an artifact, as SQLite would say it about the database."""
_SMALLEST = 512
_WAL_BYTES = 64 * 1024 * 1024


UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises; its module cannot decode the message about a damaged schema, which quotes that."""


def make_folder(project: Path, *, journal: bool = True) -> Path:
    """The folder of all that is kept here, for nobody but its user, and ignored by git."""
    folder = project / FOLDER
    try:
        make_durable_folder(folder)
        ignore = folder / ".gitignore"
        if not ignore.exists() or not ignore.stat().st_size:  # a process may have died before it was written
            ignore.write_text("*\n")
        with contextlib.suppress(FileExistsError):
            if journal:
                os.close(os.open(folder / FILE, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        what = "the journal" if journal else "files"
        code = "journal_unusable" if journal else ""
        raise OperationFailed(f"cannot write {what} in {folder}: {error.strerror}", code=code) from error
    return folder


def connect(path: Path) -> sqlite3.Connection:
    """A connection that loses nothing it acknowledged. Callers queue for the lock with `begin`."""
    connection = _opened(path, "rw")
    try:
        patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            raise sqlite3.OperationalError("this file system cannot hold a journal; use a local disk")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # only macOS knows the difference
        connection.execute("PRAGMA checkpoint_fullfsync = ON")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    except UNREADABLE as error:
        explained = explain(error, path, connection)
        connection.close()
        raise explained from error
    return connection


def connect_readonly(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing, not even beside the file: it works in a folder that is read-only."""
    connection = _opened(path, "ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master")
    except UNREADABLE as error:
        explained = explain(error, path, connection)
        connection.close()
        if path.with_name(path.name + "-wal").exists() or isinstance(explained, JournalDamaged):
            raise explained from error
        # Nobody writes now, and SQLite cannot make its lock file here: read the file as it is.
        connection = _opened(path, "ro&immutable=1")
    return connection


def begin(connection: sqlite3.Connection, patience: float = PATIENCE) -> None:
    """Take the lock for writing, after whoever has it."""
    patiently(lambda: connection.execute("BEGIN IMMEDIATE"), patience)


def identity(path: Path) -> tuple[int, int]:
    """Of the file that lies there now. Who has one open keeps it, although nobody else can find it any more."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_dev, found.st_ino


def patiently(attempt: Callable[[], object], patience: float = PATIENCE) -> None:
    """Try until no other process is in the way. SQLite's own waiting grows to 0.1 s a step and so loses to a
    busy process again and again; short steps get their turn."""
    deadline = time.monotonic() + patience
    while True:
        try:
            attempt()
            return
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
        time.sleep(0.002)


def is_busy(error: Exception) -> bool:
    return isinstance(error, sqlite3.Error) and _code(error) == sqlite3.SQLITE_BUSY


def explain(error: Exception, path: Path, connection: sqlite3.Connection) -> FolkmootError:
    """What an error means for the journal, with the position if the file is damaged."""
    if isinstance(error, FolkmootError):
        return error
    if isinstance(error, sqlite3.Error) and _code(error) == sqlite3.SQLITE_NOTADB:
        return JournalDamaged(f"{path}: byte 0: this is not a SQLite database")
    if isinstance(error, UnicodeDecodeError) or (
        isinstance(error, sqlite3.Error) and _code(error) in _DAMAGE
    ):
        size = path.stat().st_size
        return JournalDamaged(f"{path}: {_first_fault(connection) or error}; the file ends at byte {size}")
    return OperationFailed(f"{path}: {_remedied(error)}", code="journal_unusable")


def _remedied(error: Exception) -> str:
    if is_busy(error):
        return f"another process kept the journal locked for {PATIENCE:.0f} s; try again"
    code = _code(error) if isinstance(error, sqlite3.Error) else _AS_CODE.get(getattr(error, "errno", 0))
    no_index = (
        getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHMSIZE
    )  # also who only reads needs one
    if code == sqlite3.SQLITE_FULL or no_index:
        return "the disk is full; free some room on it"
    if code == sqlite3.SQLITE_IOERR:
        return f"the disk failed ({error}); the system's log may say why"
    return str(error)


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    place = f"file:{quote(str(path))}?mode={mode}"
    try:
        if 0 < (size := path.stat().st_size) < _SMALLEST:  # SQLite would take it for an empty one
            raise JournalDamaged(
                f"{path}: byte 0: this is not a SQLite database; the file ends at byte {size}"
            )
        return sqlite3.connect(place, uri=True, timeout=1.0, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.OperationalError) as error:
        raise OperationFailed(f"cannot open the journal {path}: {error}", code="journal_unusable") from error


def _code(error: sqlite3.Error) -> int:
    """SQLite's own code. Errors that the Python module raises by itself have none."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE)
    if "decode to UTF-8" in str(error):
        return sqlite3.SQLITE_CORRUPT
    return code & 0xFF


def _first_fault(connection: sqlite3.Connection) -> str:
    try:
        faults = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1)")]
    except UNREADABLE:
        return ""
    return "; ".join(fault for fault in faults if fault != "ok")


APPLICATION = 0x466F6C6B
"""Marks a SQLite file as a journal of Folkmoot (`Folk`)."""


class Migration(msgspec.Struct, frozen=True):
    version: int
    script: str


@cache
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
