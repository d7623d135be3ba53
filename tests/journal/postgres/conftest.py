"""Two processes of one project on a server."""

import pytest

from folkmoot.journal.postgres.journal import PostgresJournal


@pytest.fixture
async def journal(storage):
    journal = PostgresJournal(storage)
    yield journal
    await journal.close()


@pytest.fixture
async def other(storage):
    """The journal of another process."""
    journal = PostgresJournal(storage)
    yield journal
    await journal.close()
