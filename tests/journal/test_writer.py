"""The one who commits: in the event loop while that is quick, otherwise by its thread."""

import asyncio
import resource
import sqlite3
import threading

import pytest

from folkmoot.errors import JournalDamaged, OperationFailed
from folkmoot.journal import writer
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Epoch
from tests.journal.contract import ASKED, ENDED, ME, Time, draft, read, said


@pytest.fixture
async def journal(tmp_path):
    journal = SqliteJournal.open(tmp_path, Time())
    await journal.append("run-1", ME, [draft()])
    yield journal
    await journal.close()


@pytest.fixture
def lock(tmp_path, journal):
    """What another process does while it writes."""
    other = sqlite3.connect(tmp_path / ".folkmoot" / "folkmoot.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


@pytest.fixture
def threads():
    """Those of this test's journals: a journal that an earlier test forgot may have one, too."""
    before = {*threading.enumerate()}
    return lambda: [
        thread
        for thread in threading.enumerate()
        if thread.name == "folkmoot-journal" and thread not in before
    ]


async def turns(count):
    """Give everything that could run now the chance to."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_while_commits_are_quick_there_is_no_thread(tmp_path, threads, monkeypatch):
    monkeypatch.setattr(writer, "_QUICK", 60.0)
    journal = SqliteJournal.open(tmp_path, Time())

    for run in ("run-1", "run-2", "run-3"):
        await journal.append(run, ME, [draft()])

    assert threads() == []
    await journal.close()


async def test_after_a_slow_commit_the_thread_does_the_next(threads, journal, monkeypatch):
    monkeypatch.setattr(writer, "_QUICK", 0.0)
    await journal.append("run-1", Epoch(1), [draft(ASKED)])

    await journal.append("run-1", Epoch(1), [draft(ASKED)])

    assert len(threads()) == 1
    await journal.close()
    assert threads() == []


async def test_after_a_lull_an_append_is_durable_before_the_call_returns(journal, monkeypatch):
    monkeypatch.setattr(writer, "_CROWDED", -1.0)
    monkeypatch.setattr(writer, "_QUICK", 60.0)
    journal._writer._quick = True

    assert journal.append("run-1", Epoch(1), [draft(ASKED)]).done()


async def test_what_many_submit_in_one_turn_is_one_transaction(journal, monkeypatch):
    monkeypatch.setattr(writer, "_CROWDED", 60.0)
    journal._writer._alone = 0  # a task that is gone by now, and this one may have its id
    commits = []
    await journal._submit(lambda ledger: ledger._connection.set_trace_callback(commits.append))

    await asyncio.gather(*(journal.append(f"new-{n}", ME, [draft()]) for n in range(50)))

    assert [statement for statement in commits if statement == "COMMIT"] == ["COMMIT", "COMMIT"]


async def test_an_append_queues_behind_another_process_and_the_loop_goes_on(journal, lock):
    waiting = journal.append("run-1", Epoch(1), [draft(ASKED)])
    await turns(20)
    behind = journal.append("run-1", Epoch(1), [draft(ENDED)])
    await turns(20)
    assert not waiting.done()
    assert [entry.run_seq for entry in await read(journal)] == [1]

    lock.execute("COMMIT")

    assert [entry.run_seq for entry in [*await waiting, *await behind]] == [2, 3]


async def test_a_lock_that_is_never_freed_is_an_error_and_not_the_end(journal, lock, monkeypatch, tmp_path):
    monkeypatch.setattr(writer, "PATIENCE", 0.01)
    id = journal.keep(b"kept meanwhile")

    with pytest.raises(OperationFailed, match="another process kept the journal locked"):
        await journal.append("run-1", Epoch(1), [draft(ASKED)])
    lock.execute("COMMIT")
    await journal.append("run-1", Epoch(1), [draft(ENDED)])

    another = SqliteJournal.open(tmp_path, Time(), readonly=True)
    assert [entry.event for entry in await read(another)][1:] == [ENDED]
    assert await another.artifact(id) == b"kept meanwhile"
    await another.close()


async def test_a_cancelled_wait_harms_nobody(journal, lock):
    one = asyncio.ensure_future(journal.append("run-1", Epoch(1), [draft(ASKED)]))
    await turns(5)
    one.cancel()
    two = journal.append("run-1", Epoch(1), [draft(ENDED)])
    await turns(5)

    lock.execute("COMMIT")

    assert [entry.run_seq for entry in await two] == [3]


@pytest.mark.parametrize("quick", [60.0, 0.0], ids=["in the loop", "in the thread"])
async def test_after_a_failed_write_nothing_is_acknowledged_any_more(tmp_path, monkeypatch, quick):
    """C1: what the disk holds is uncertain then; who opens the journal anew finds all that was acknowledged."""
    monkeypatch.setattr(writer, "_QUICK", quick)
    journal = SqliteJournal.open(tmp_path, Time())
    acknowledged = [*await journal.append("run-1", ME, [draft()])]
    acknowledged += await journal.append("run-1", Epoch(1), [draft(ASKED)])

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(OperationFailed, match=r"takes no more entries.*folkmoot\.db") as failure:
            await append_for_ever(journal, acknowledged)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    results = await asyncio.gather(
        journal.append("run-1", Epoch(1), [draft()]), journal.post("run-1", "cancel"), return_exceptions=True
    )
    await journal.close()

    assert [str(result) for result in results] == [str(failure.value)] * 2
    again = SqliteJournal.open(tmp_path, Time())
    entries = await read(again)
    assert entries[: len(acknowledged)] == acknowledged
    await again.append("run-1", Epoch(1), [draft(ENDED)])
    await again.close()


async def append_for_ever(journal, acknowledged):
    while True:
        acknowledged += await journal.append("run-1", Epoch(1), [said("x" * 20_000)])


async def test_a_large_content_that_cannot_be_written_is_a_failed_write_too(journal, tmp_path):
    """C1: and what was written of it does not take up the room of a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
    try:
        journal.keep(b"x" * 600_000)
        with pytest.raises(OperationFailed, match="takes no more entries"):
            await journal.append("run-1", Epoch(1), [draft()])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert [path.name for path in tmp_path.rglob("*.tmp")] == []
    with pytest.raises(OperationFailed, match="takes no more entries"):
        await journal.close()


async def test_what_goes_into_a_removed_database_is_not_acknowledged(journal, tmp_path):
    """C1: SQLite itself would go on with a file that nobody can find any more."""
    (tmp_path / ".folkmoot" / "folkmoot.db").unlink()

    with pytest.raises(OperationFailed, match=r"folkmoot\.db was removed or replaced while it was open"):
        await journal.append("run-1", Epoch(1), [draft(ASKED)])


async def test_a_damaged_database_is_reported_to_who_writes(tmp_path):
    journal = SqliteJournal.open(tmp_path, Time())
    await journal.append("run-1", ME, [draft()] * 50)
    await journal.close()
    file = tmp_path / ".folkmoot" / "folkmoot.db"
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))

    with pytest.raises(JournalDamaged, match=r"folkmoot\.db"):
        await SqliteJournal.open(tmp_path, Time()).append("run-1", Epoch(1), [draft()])


async def test_the_log_does_not_grow_without_end(journal, tmp_path):
    for _ in range(300):
        await journal.append("run-1", Epoch(1), [said("x" * 60_000)])

    log = tmp_path / ".folkmoot" / "folkmoot.db-wal"
    assert log.stat().st_size < 6_000_000


async def test_closing_writes_what_was_handed_over(tmp_path):
    journal = SqliteJournal.open(tmp_path, Time())
    last = [journal.append(f"run-{n}", ME, [draft()]) for n in range(20)]
    await journal.close()

    assert all(append.done() for append in last)
    again = SqliteJournal.open(tmp_path, Time())
    assert len(await read(again)) == 20
    await again.close()


def test_a_journal_can_be_used_in_one_event_loop_after_another(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "_QUICK", 0.0)
    journal = SqliteJournal.open(tmp_path, Time())

    async def append(expected):
        for _ in range(3):
            await journal.append("run-1", expected, [draft()])
            expected = Epoch(1)

    asyncio.run(append(ME))
    asyncio.run(append(Epoch(1)))
    asyncio.run(journal.close())

    async def count():
        again = SqliteJournal.open(tmp_path, Time())
        entries = await read(again)
        await again.close()
        return len(entries)

    assert asyncio.run(count()) == 6
