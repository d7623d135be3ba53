"""The journal in PostgreSQL does what every journal does."""

from types import SimpleNamespace

import pytest

from folkmoot.journal.postgres import artifacts, ledger, reader
from folkmoot.journal.postgres.journal import PostgresJournal
from tests.journal.contract import JournalContract
from tests.journal.postgres.server_time import ServerTime
from tests.journal.read_model import ReadModelContract


class BothTimes(ServerTime):
    """The clock of the server and that of the process, which move together when told."""

    def __init__(self, server, storage, clock) -> None:
        super().__init__(server, storage)
        self._clock = clock

    def set(self, now: float) -> None:
        super().set(now)
        self._clock.now = now


class TestPostgresJournal(JournalContract, ReadModelContract):
    @pytest.fixture
    def clock(self):
        return SimpleNamespace(now=1_000.0)

    @pytest.fixture
    async def journal(self, storage, clock):
        journal = PostgresJournal(storage, monotonic=lambda: clock.now)
        await journal.claims()  # so that there is a clock to be set
        yield journal
        await journal.close()

    @pytest.fixture
    def time(self, postgres, storage, journal, clock):
        time = BothTimes(postgres, storage, clock)
        time.now += 0
        return time


class TestPostgresJournalInSmallPages:
    """Nothing is read, written or removed in one go."""

    clock = TestPostgresJournal.clock
    journal = TestPostgresJournal.journal
    time = TestPostgresJournal.time
    test_query = JournalContract.test_a_query_restricts_by_stream_type_position_and_number
    test_long = JournalContract.test_long_journals_are_read_whole
    test_end = JournalContract.test_a_read_ends_with_what_was_durable_when_it_began
    test_follower = JournalContract.test_a_follower_sees_everything_once_and_in_order

    test_restore = JournalContract.test_a_stream_of_another_journal_is_taken_in_as_it_is
    test_prune = JournalContract.test_of_a_pruned_run_only_the_tombstone_stays_with_the_last_hash
    test_sweep = JournalContract.test_a_sweep_removes_what_no_entry_names_and_was_not_kept_just_now
    test_large = JournalContract.test_the_data_of_a_large_event_is_never_swept

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        monkeypatch.setattr(reader, "_PAGE", 3)
        monkeypatch.setattr(artifacts, "_PAGE", 1)
        monkeypatch.setattr("folkmoot.journal.artifacts._REMOVED", 1)
        monkeypatch.setattr(artifacts, "_BYTES", 1)
        monkeypatch.setattr(ledger, "_ROWS", 2)
