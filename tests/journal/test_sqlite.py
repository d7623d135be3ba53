"""The journal of a project folder."""

import pytest

from folkmoot.journal import writer
from folkmoot.journal.sqlite import SqliteJournal
from tests.journal.contract import JournalContract


class TestSqliteJournal(JournalContract):
    @pytest.fixture
    async def journal(self, time, tmp_path):
        journal = SqliteJournal.open(tmp_path, time)
        yield journal
        await journal.close()


class TestSqliteJournalOnASlowDisk(TestSqliteJournal):
    """No commit is quick enough for the event loop: all but the first go through the thread."""

    @pytest.fixture(autouse=True)
    def slow(self, monkeypatch):
        monkeypatch.setattr(writer, "_QUICK", 0.0)
