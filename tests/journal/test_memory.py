"""The reference."""

import pytest

from folkmoot.journal.sqlite import MemoryJournal
from tests.journal.contract import JournalContract
from tests.journal.read_model import ReadModelContract


class TestMemoryJournal(JournalContract, ReadModelContract):
    @pytest.fixture
    def journal(self, time):
        return MemoryJournal(time)
