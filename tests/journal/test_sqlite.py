"""The journal of a project folder."""

import pytest

from folkmoot.journal import reader, writer
from folkmoot.journal.sqlite import SqliteJournal
from tests.journal.contract import JournalContract
from tests.journal.read_model import ReadModelContract


class TestSqliteJournal(JournalContract, ReadModelContract):
    @pytest.fixture
    async def journal(self, time, tmp_path):
        journal = SqliteJournal.open(tmp_path, time, wall=time)
        yield journal
        await journal.close()


class TestSqliteJournalOnASlowDisk(TestSqliteJournal):
    """No commit is quick enough for the event loop: all but the first go through the thread."""

    @pytest.fixture(autouse=True)
    def slow(self, monkeypatch):
        monkeypatch.setattr(writer, "_QUICK", 0.0)


class TestSqliteJournalInSmallPages(TestSqliteJournal):
    """No read fits into one page."""

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        monkeypatch.setattr(reader, "_PAGE", 3)
        monkeypatch.setattr(reader, "_SCANNED", 5)
        monkeypatch.setattr(reader, "_BYTES", 100)
