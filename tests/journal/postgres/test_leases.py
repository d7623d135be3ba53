"""Who takes a run over goes by what it has seen itself, never by the clock of the server."""

from types import SimpleNamespace

import psycopg
import pytest

from folkmoot.engine.clock import FakeClock
from folkmoot.engine.owner import claim_run
from folkmoot.errors import Held
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.journal.postgres.server import MIGRATIONS
from folkmoot.ports import Claim, Epoch
from tests.journal.contract import ENDED, ME, draft, read
from tests.journal.postgres.server_time import ServerTime


@pytest.fixture
def clock():
    """Of the process that wants a run."""
    return SimpleNamespace(now=0.0)


@pytest.fixture
async def heir(storage, clock):
    journal = PostgresJournal(storage, monotonic=lambda: clock.now)
    await journal.claims()
    yield journal
    await journal.close()


@pytest.fixture
def server_time(postgres, storage, heir):
    return ServerTime(postgres, storage)


@pytest.mark.parametrize("jump", [3_600, -3_600])
async def test_a_server_whose_clock_is_set_hands_no_run_over(journal, heir, clock, server_time, jump):
    """K-8: neither a step forward nor the other clock of a standby that took over."""
    server_time.now = 10_000.0
    await journal.append("run-1", ME, [draft()])
    server_time.now += jump

    for _ in range(20):
        with pytest.raises(Held):
            await heir.claim("run-1", "you", 30.0)
        clock.now += 10
        assert await journal.renew([Claim("run-1", "me", 1, live=True)], 30.0)

    await journal.append("run-1", Epoch(1), [draft(ENDED)])


@pytest.mark.parametrize("jump", [3_600, 0, -3_600])
async def test_a_dead_owners_run_is_free_after_a_lease_whatever_the_servers_clock_says(
    journal, heir, clock, server_time, jump
):
    """K-8: a step back kept the runs of dead workers."""
    server_time.now = 10_000.0
    await journal.append("run-1", ME, [draft()])
    server_time.now += jump
    with pytest.raises(Held):
        await heir.claim("run-1", "you", 30.0)
    clock.now += 29
    with pytest.raises(Held):
        await heir.claim("run-1", "you", 30.0)
    clock.now += 1

    assert (await heir.claim("run-1", "you", 30.0)).epoch == 2


async def test_an_owner_with_a_longer_lease_is_watched_for_that(journal, heir, clock):
    await journal.append("run-1", ME, [draft()])
    await journal.renew([Claim("run-1", "me", 1, live=True)], 60.0)
    with pytest.raises(Held):
        await heir.claim("run-1", "you", 30.0)
    clock.now += 59

    with pytest.raises(Held):
        await heir.claim("run-1", "you", 30.0)


async def test_who_asks_once_for_a_run_whose_owner_seems_gone_watches_it_and_gets_it(
    journal, storage, server_time
):
    """`folkmoot runs resume` for a run of a dead host."""
    await journal.append("run-1", ME, [draft()])
    server_time.now += 100
    clock = HurriedClock()
    heir = PostgresJournal(storage, monotonic=clock.monotonic)

    claim = await claim_run(heir, clock, "run-1", "you", 30.0)

    assert claim.epoch == 2
    assert 30 <= clock.monotonic() < 31
    await heir.close()


class HurriedClock(FakeClock):
    async def sleep(self, seconds: float) -> None:
        self._elapsed += seconds


async def test_a_schema_of_the_release_before_is_migrated_and_its_runs_are_watched(postgres, storage, clock):
    """Old workers are refused from then on; what they held is free after the longest lease."""
    schema = f'"folkmoot_{storage.project}"'
    with psycopg.connect(postgres.url) as connection:
        connection.execute(
            f"CREATE SCHEMA {schema}; SET search_path TO {schema}; {MIGRATIONS[0].script}".encode()
        )
    postgres.query(f"INSERT INTO {schema}.stream VALUES ('run-1', 'me', 1, 1e12), ('run-2', 'me', 1, 0)")
    heir = PostgresJournal(storage, monotonic=lambda: clock.now)

    with pytest.raises(Held):
        await heir.claim("run-1", "you", 30.0)
    assert (await heir.claim("run-2", "you", 30.0)).epoch == 2
    clock.now += 60
    assert (await heir.claim("run-1", "you", 30.0)).epoch == 2

    assert await read(heir) == []
    await heir.close()
