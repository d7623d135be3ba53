"""The read model beside the entries of a project's journal, where writers without one leave gaps."""

import shutil
from random import Random

import pytest

from folkmoot.domain.read_model import Applier, changed_rows, is_applied
from folkmoot.errors import OperationFailed
from folkmoot.journal import reader as readers
from folkmoot.journal.ledger import Ledger
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.journal.tables import StoredTables, compare_tables
from folkmoot.ports import ItemQuery, Query, RunQuery
from tests.journal.contract import Time
from tests.journal.read_model import rebuilt, rows, write


@pytest.fixture
async def journal(tmp_path):
    journal = SqliteJournal.open(tmp_path, Time())
    yield journal
    await journal.close()


@pytest.fixture
def old_writer(monkeypatch):
    """Writes of a release that knows no read model."""

    def without_tables(self):
        self._unapplied.clear()
        self._applied = None

    def switch(on):
        if on:
            monkeypatch.setattr(Ledger, "_apply", without_tables)
        else:
            monkeypatch.undo()

    return switch


@pytest.mark.parametrize("seed", range(8))
async def test_what_an_old_writer_wrote_is_applied_by_the_next_reader(tmp_path, journal, old_writer, seed):
    random, places = Random(seed), {}
    for _ in range(12):
        if random.random() < 0.4:
            old_writer(True)
            old = SqliteJournal.open(tmp_path, Time())
            await write(old, random, places, random.randrange(1, 6))
            await old.close()
            old_writer(False)
        await write(journal, random, places, random.randrange(1, 6))
        if random.random() < 0.5:
            await rows(journal)

    assert await rows(journal) == await rebuilt(journal)


async def test_a_check_names_the_runs_whose_rows_do_not_follow_from_the_entries(tmp_path, journal):
    await write(journal, Random(1), {}, 20)
    assert await compare_tables(journal) == []
    connection = readers.sqlite3.connect(tmp_path / ".folkmoot" / "folkmoot.db")
    connection.execute("UPDATE runs SET label = 'another' WHERE run = 'run-1'")
    connection.execute("DELETE FROM records WHERE id = 'task_1'")
    connection.execute("DELETE FROM run_texts WHERE run = 'run-2'")
    connection.commit()
    connection.close()

    assert await compare_tables(journal) == ["run-1", "run-2", "task_1"]
    await journal.rebuild()
    assert await compare_tables(journal) == []


async def test_rows_are_stored_in_the_commit_of_their_entries(tmp_path, journal):
    await write(journal, Random(1), {}, 20)

    connection = readers.sqlite3.connect(tmp_path / ".folkmoot" / "folkmoot.db")
    assert StoredTables(connection, tmp_path).gap == 0
    connection.close()


async def test_a_copy_and_a_folder_that_cannot_be_written_to_are_listed_from_memory(
    tmp_path, journal, old_writer, monkeypatch
):
    places = {}
    await write(journal, Random(1), places, 20)
    old_writer(True)
    await write(journal, Random(2), places, 20)
    old_writer(False)
    await journal.close()
    file = tmp_path / ".folkmoot" / "folkmoot.db"
    shutil.copy(file, tmp_path / "copy.db")
    before = file.read_bytes()
    monkeypatch.setattr(readers, "catch_up", refuse)
    copy = SqliteJournal.open_copy(tmp_path / "copy.db")
    readonly = SqliteJournal.open(tmp_path, Time(), readonly=True)

    found = await rows(copy)
    assert await rows(readonly) == found == await rebuilt(copy)
    await copy.close()
    await readonly.close()
    assert file.read_bytes() == before
    monkeypatch.undo()
    again = SqliteJournal.open(tmp_path, Time())
    assert await rows(again) == found
    await again.close()


def refuse(*args, **more):
    raise OperationFailed("attempt to write a readonly database")


async def test_a_journal_without_tables_gets_them_when_it_is_first_read(tmp_path, journal):
    await write(journal, Random(1), {}, 20)
    found = await rows(journal)
    await journal.close()
    connection = readers.sqlite3.connect(tmp_path / ".folkmoot" / "folkmoot.db")
    for table in ("read_model", "runs", "run_texts", "inbox", "spend", "records"):
        connection.execute(f"DROP TABLE {table}")
    connection.close()
    told = []

    again = SqliteJournal.open(tmp_path, Time(), readonly=True)
    again.progress = lambda done, count: told.append((done, count))

    assert (await again.runs(RunQuery()), await again.items(ItemQuery())) == found[:2]
    assert told[-1][0] == told[-1][1] > 0
    await again.close()


async def test_a_record_whose_entries_are_damaged_hides_no_others(tmp_path, journal):
    await write(journal, Random(1), {}, 20)
    before = await rows(journal)
    connection = readers.sqlite3.connect(tmp_path / ".folkmoot" / "folkmoot.db")
    connection.execute(
        "UPDATE entry SET text = x'00' WHERE stream = (SELECT number FROM stream WHERE name = 'task_1')"
    )
    connection.commit()
    connection.close()

    runs, items, spend, records = await rebuilt(journal)

    assert (runs, items, spend) == before[:3]
    assert [row.id for row in records] == [row.id for row in before[3]]
    assert {row.status for row in records if row.id == "task_1"} == {""}


@pytest.mark.parametrize("seed", range(8))
async def test_every_row_that_an_entry_changes_is_announced(journal, seed):
    """What looks on is told which rows changed, without applying the entries itself."""
    await write(journal, Random(seed), {}, 60)
    applier = Applier()
    entries = [entry async for entry in journal.read(Query()) if is_applied(entry.stream, entry.event.type)]
    for before, entry in zip((0, *(entry.seq for entry in entries)), entries, strict=False):
        changes = applier.apply([entry], before, entry.seq)
        changed = {("runs", run.run) for run in (*changes.begun, *changes.runs)}
        changed |= {("inbox", entry.stream) for _ in (*changes.items, *changes.erased)}
        changed |= {("spend", run) for run in changes.unpaid} | {("spend", row.run) for row in changes.spend}
        changed |= {("records", row.id) for row in changes.records}
        assert changed <= {*changed_rows(entry)}
