"""The reference."""

import pytest

from folkmoot.journal.memory import MemoryJournal
from tests.journal.contract import JournalContract


class TestMemoryJournal(JournalContract):
    @pytest.fixture
    def journal(self, time):
        return MemoryJournal(time)
