"""A copy of the whole journal, made while others write to it."""

import asyncio
import sqlite3
import stat

import pytest

from folkmoot.errors import WrongUse
from folkmoot.journal import copies as backup
from folkmoot.journal.codec import LIMIT
from folkmoot.journal.copies import back_up, open_source
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Epoch
from tests.journal.chain import check_chain
from tests.journal.contract import ASKED, ME, Time, draft, read, said


@pytest.fixture
async def journal(tmp_path):
    journal = SqliteJournal.open(tmp_path, Time())
    await journal.append("run-1", ME, [draft(), said("x" * (LIMIT + 1))])
    yield journal
    await journal.close()


async def test_a_backup_is_one_file_that_reads_like_the_journal(journal, tmp_path):
    """Issue 4, backup: large artifacts are in it, and nothing lies beside it."""
    large = journal.keep(b"y" * (LIMIT + 1))
    await journal.append("run-1", Epoch(1), [draft(ASKED)])
    (tmp_path / "safe").mkdir()

    back_up(tmp_path, tmp_path / "safe" / "copy")
    copy = open_source(tmp_path / "safe" / "copy")

    assert await read(copy, stream="run-1") == await read(journal, stream="run-1")
    assert await copy.artifact(large) == b"y" * (LIMIT + 1)
    await copy.close()
    assert [path.name for path in (tmp_path / "safe").iterdir()] == ["copy"]
    assert stat.S_IMODE((tmp_path / "safe" / "copy").stat().st_mode) == 0o600


async def test_a_backup_is_of_one_moment_however_much_is_written_meanwhile(journal, tmp_path, monkeypatch):
    """Issue 4, backup: online. Somebody writes between any two pages."""
    monkeypatch.setattr(backup, "_PAGES", 1)
    before = await read(journal)
    other = sqlite3.connect(tmp_path / ".folkmoot" / "folkmoot.db", isolation_level=None)
    steps = []

    def write(part):
        steps.append(part)
        other.execute("INSERT INTO post (run, kind, body) VALUES ('run-1', 'x', ?)", ("y" * 5000,))

    back_up(tmp_path, tmp_path / "copy", write)
    other.close()

    copy = open_source(tmp_path / "copy")
    assert await read(copy) == before
    assert await copy.posts(["run-1"]) == []
    await copy.close()
    assert len(steps) > 3
    assert steps[-1] == 1.0


async def test_a_backup_under_load_hangs_together(journal, tmp_path):
    """C2: every reader sees a prefix."""

    async def write():
        for _ in range(50):
            await journal.append("run-1", Epoch(1), [draft(ASKED)] * 3)

    writing = asyncio.create_task(write())
    copies = []
    for number in range(3):
        await asyncio.to_thread(back_up, tmp_path, tmp_path / f"copy-{number}")
        copies.append(tmp_path / f"copy-{number}")
    await writing

    whole = await read(journal)
    for path in copies:
        copy = open_source(path)
        entries = await read(copy)
        await copy.close()
        assert entries == whole[: len(entries)]
        assert list(check_chain(entries)) == []


async def test_a_backup_that_was_broken_off_leaves_nothing(journal, tmp_path):
    (tmp_path / "copy").write_bytes(b"the one before")

    def interrupt(part):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        back_up(tmp_path, tmp_path / "copy", interrupt)
    with pytest.raises(WrongUse, match="cannot write"):
        back_up(tmp_path, tmp_path / "no" / "copy")

    assert (tmp_path / "copy").read_bytes() == b"the one before"
    assert list(tmp_path.glob(".copy*")) == []
