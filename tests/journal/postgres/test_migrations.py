"""A project's schema is made once, whoever comes first, and one of a newer release is refused."""

import asyncio

import pytest

from folkmoot.errors import JournalTooNew
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.ports import Epoch
from tests.journal.contract import ENDED, ME, draft, read


async def test_many_processes_that_come_first_at_once_make_one_schema(postgres, storage):
    journals = [PostgresJournal(storage) for _ in range(8)]

    await asyncio.gather(*(journal.append(f"run-{n}", ME, [draft()]) for n, journal in enumerate(journals)))

    assert len(await read(journals[0])) == 8
    assert postgres.query(f'SELECT version, needs FROM "folkmoot_{storage.project}".release') == [
        (1, "0.1.0"),
        (2, "0.2.0"),
        (3, "0.2.0"),
    ]
    for journal in journals:
        await journal.close()


@pytest.mark.parametrize("readonly", [True, False])
async def test_a_schema_of_a_newer_release_is_refused(postgres, storage, readonly):
    """Also by a process that had it open before."""
    before = PostgresJournal(storage)
    await before.append("run-1", ME, [draft()])
    postgres.query(f"""INSERT INTO "folkmoot_{storage.project}".release VALUES (9, '7.0')""")
    after = PostgresJournal(storage, readonly=readonly)

    with pytest.raises(JournalTooNew, match=r"has version 9, .* it needs Folkmoot 7\.0 or newer"):
        await read(after)
    with pytest.raises(JournalTooNew, match="version 9"):
        await before.append("run-1", Epoch(1), [draft(ENDED)])

    for journal in (before, after):
        await journal.close()
