"""Journals of older and newer releases."""

import sqlite3
import stat

import pytest

from folkmoot.errors import JournalTooNew, OperationFailed
from folkmoot.journal.database import Migration, connect, known_migrations, make_folder, migrate
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Epoch
from tests.journal.contract import ASKED, ME, Time, draft, read

SECOND = Migration(
    2,
    """
    -- A comment; with a semicolon.
    CREATE TABLE added (note TEXT DEFAULT 'a;b');
    INSERT INTO release VALUES (2, '0.9.0');
    """,
)
BROKEN = Migration(2, "CREATE TABLE added (note TEXT); CREATE TABLE added (note TEXT);")


@pytest.fixture
async def journal(tmp_path):
    journal = SqliteJournal.open(tmp_path, Time())
    await journal.append("run-1", ME, [draft(), draft(ASKED)])
    yield journal
    await journal.close()


@pytest.fixture
def file(tmp_path):
    return tmp_path / ".folkmoot" / "folkmoot.db"


def migrated(file, *more):
    connection = connect(file)
    try:
        migrate(connection, file, [*known_migrations(), *more])
        return connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        connection.close()


def test_the_migrations_of_this_release_are_numbered_without_gaps():
    migrations = known_migrations()

    assert [migration.version for migration in migrations] == list(range(1, len(migrations) + 1))


def test_a_new_journal_gets_the_latest_version_and_no_backup(tmp_path):
    file = make_folder(tmp_path) / "folkmoot.db"

    assert migrated(file, SECOND) == 2
    assert list(file.parent.glob("*.bak*")) == []


async def test_before_an_older_journal_is_changed_a_copy_is_made(journal, tmp_path, file):
    entries = await read(journal)
    await journal.close()

    assert migrated(file, SECOND) == 2
    assert migrated(file, SECOND) == 2

    copy = file.parent / "folkmoot.db.v1.bak"
    assert [path.name for path in file.parent.glob("*.bak*")] == [copy.name]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    file.write_bytes(copy.read_bytes())
    restored = SqliteJournal.open(tmp_path, Time())
    assert await read(restored) == entries
    await restored.close()


async def test_a_migration_that_fails_leaves_the_journal_as_it_was(journal, tmp_path, file):
    entries = await read(journal)
    await journal.close()

    with pytest.raises(sqlite3.OperationalError):
        migrated(file, BROKEN)

    again = SqliteJournal.open(tmp_path, Time())
    assert await read(again) == entries
    await again.close()


async def test_a_newer_journal_is_refused_with_the_release_it_needs(journal, tmp_path, file):
    await journal.close()
    migrated(file, SECOND)

    for readonly in (False, True):
        with pytest.raises(JournalTooNew, match=r"version 2.*up to 1.*needs Folkmoot 0\.9\.0 or newer"):
            SqliteJournal.open(tmp_path, Time(), readonly=readonly)


async def test_a_process_of_an_older_release_stops_writing_when_a_newer_one_changed_the_journal(
    journal, file
):
    migrated(file, SECOND)

    with pytest.raises(OperationFailed, match=r"takes no more entries.*needs Folkmoot 0\.9\.0"):
        await journal.append("run-1", Epoch(1), [draft()])


async def test_who_may_only_read_does_not_change_an_older_journal(journal, tmp_path, file):
    await journal.close()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 0")
    connection.close()

    with pytest.raises(OperationFailed, match="older release"):
        SqliteJournal.open(tmp_path, Time(), readonly=True)
