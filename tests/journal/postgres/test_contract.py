"""The journal in PostgreSQL does what every journal does."""

import pytest

from folkmoot.journal.postgres import artifacts, ledger, reader
from folkmoot.journal.postgres.journal import PostgresJournal
from tests.journal.contract import JournalContract


class ServerTime:
    """The clock of the server, which moves when told: leases go by nothing else."""

    def __init__(self, server, storage) -> None:
        self._server = server
        self._function = f'"folkmoot_{storage.project}".moment()'
        self._now = 1_000.0

    @property
    def now(self) -> float:
        return self._now

    @now.setter
    def now(self, now: float) -> None:
        self._now = now
        self._server.query(
            f"CREATE OR REPLACE FUNCTION {self._function} RETURNS float8 LANGUAGE sql AS 'SELECT {now}::float8'"
        )


class TestPostgresJournal(JournalContract):
    @pytest.fixture
    async def journal(self, storage):
        journal = PostgresJournal(storage)
        await journal.claims()  # so that there is a clock to be set
        yield journal
        await journal.close()

    @pytest.fixture
    def time(self, postgres, storage, journal):
        time = ServerTime(postgres, storage)
        time.now += 0
        return time


class TestPostgresJournalInSmallPages:
    """Nothing is read, written or removed in one go."""

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
        monkeypatch.setattr(artifacts, "_REMOVED", 1)
        monkeypatch.setattr(artifacts, "_BYTES", 1)
        monkeypatch.setattr(ledger, "_ROWS", 2)
