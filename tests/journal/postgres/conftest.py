"""Two processes of one project on a server."""

import pytest

from folkmoot.journal.postgres import server
from folkmoot.journal.postgres.journal import PostgresJournal


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine takes its time, also to start a server that was killed: only who tests patience has little."""
    monkeypatch.setattr(server, "PATIENCE", 600.0)
    monkeypatch.setattr(server, "_STALLED", 600)


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
