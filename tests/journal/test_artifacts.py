"""Where kept content lies."""

import pytest

from folkmoot.domain.events import ToolFinished
from folkmoot.errors import JournalDamaged
from folkmoot.journal import writer
from folkmoot.journal.artifacts import REFRESH
from folkmoot.journal.codec import LIMIT
from folkmoot.journal.database import begin
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Epoch, Swept
from tests.journal.contract import ME, Time, draft, said

LARGE = b"x" * (LIMIT + 1)


@pytest.fixture
def time():
    return Time()


@pytest.fixture
async def journal(tmp_path, time):
    journal = SqliteJournal.open(tmp_path, time, wall=Time())
    yield journal
    await journal.close()


@pytest.fixture
def files(tmp_path):
    return lambda: sorted(
        path.relative_to(tmp_path / ".folkmoot")
        for path in tmp_path.glob(".folkmoot/artifacts/**/*")
        if path.is_file()
    )


async def test_content_is_durable_with_the_next_append(journal, tmp_path):
    ids = [journal.keep(content) for content in (b"small", LARGE)]
    await journal.append("run-1", ME, [draft()])

    another = SqliteJournal.open(tmp_path, Time(), readonly=True)

    assert [await another.artifact(id) for id in ids] == [b"small", LARGE]
    await another.close()


async def test_content_is_durable_even_if_the_append_after_it_is_refused(journal, tmp_path):
    id = journal.keep(b"small")
    with pytest.raises(Exception, match="epoch"):
        await journal.append("run-1", Epoch(1), [draft()])

    another = SqliteJournal.open(tmp_path, Time(), readonly=True)

    assert await another.artifact(id) == b"small"
    await another.close()


async def test_content_that_no_append_followed_is_written_when_the_journal_is_closed(journal, tmp_path):
    ids = [journal.keep(content) for content in (b"small", LARGE)]
    await journal.close()

    another = SqliteJournal.open(tmp_path, Time())

    assert [await another.artifact(id) for id in ids] == [b"small", LARGE]
    await another.close()


async def test_only_large_content_has_a_file_and_only_one(journal, files):
    id = journal.keep(LARGE)
    journal.keep(LARGE[:-1])
    await journal.append("run-1", ME, [draft()])
    journal.keep(LARGE)
    await journal.append("run-1", Epoch(1), [draft()])

    assert [str(path) for path in files()] == [f"artifacts/{id[:2]}/{id}"]


async def test_the_same_small_content_has_one_row(journal):
    for _ in range(3):
        journal.keep(b"small")
        await journal._submit(lambda ledger: None)

    count = []
    await journal._submit(
        lambda ledger: count.append(ledger._connection.execute("SELECT count(*) FROM artifact").fetchone())
    )
    assert count == [(1,)]


async def test_large_data_of_an_event_lies_in_a_file_and_small_does_not(journal, files):
    await journal.append("run-1", ME, [said("x" * (LIMIT - 100))])
    assert files() == []

    await journal.append("run-1", Epoch(1), [said("x" * LIMIT)])
    assert len(files()) == 1


async def test_changed_content_is_damage(journal, tmp_path, files):
    id = journal.keep(LARGE)
    await journal.append("run-1", ME, [draft()])
    (tmp_path / ".folkmoot" / files()[0]).write_bytes(b"other")

    with pytest.raises(JournalDamaged, match=id):
        await journal.artifact(id)


async def test_large_content_that_is_swept_while_it_is_kept_again_is_written_again(
    journal, time, tmp_path, files, monkeypatch
):
    """Issue 4, prune: another process removes it after this one saw that it is there, and before it has the lock."""
    id = journal.keep(LARGE)
    await journal._submit(lambda ledger: None)
    time.now += REFRESH

    def swept_before(connection, patience):
        for file in files():
            (tmp_path / ".folkmoot" / file).unlink()
        begin(connection, patience)

    monkeypatch.setattr(writer, "begin", swept_before)
    journal.keep(LARGE)
    await journal.append("run-1", ME, [draft()])

    assert await journal.artifact(id) == LARGE


@pytest.mark.parametrize("size", [10, LIMIT + 1])
async def test_what_is_named_while_a_sweep_looks_for_it_stays(journal, tmp_path, size):
    """Issue 4, prune: under the lock, the entries that came meanwhile are looked at too."""
    id = journal.keep(b"x" * size)
    await journal.append("run-1", ME, [draft()])
    found = await journal._reader.unnamed(-2_000.0)
    assert found.ids == {id}

    await journal.append("run-1", Epoch(1), [draft(ToolFinished(1, 1, "look", "seen", "ev-1", artifact=id))])
    (swept,) = await journal._submit(lambda ledger: ledger.sweep(found))

    assert swept == Swept()
    assert await journal.artifact(id) == b"x" * size


async def test_what_was_kept_just_now_is_not_written_again_and_later_it_is(journal, time, monkeypatch):
    """Keeping the same prompt for each of a thousand runs costs one write; but nothing may grow old unnoticed."""
    stored = []
    monkeypatch.setattr(writer, "store_row", lambda connection, id, content, at: stored.append(content))
    for passed in (0.0, REFRESH - 1.0, 1.0):
        time.now += passed
        journal.keep(b"small")
        await journal._submit(lambda ledger: None)

    assert stored == [b"small", b"small"]
