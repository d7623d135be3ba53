"""Who is woken, when, and for what; and how runs are found that nobody was woken for."""

import asyncio
from functools import partial

import pytest

from folkmoot import MemoryJournal
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RunBound, RunCancelled, RunParked, RunStarted
from folkmoot.engine.claims import this_process
from folkmoot.engine.procrastinate import JobQueue, run_query
from folkmoot.errors import Conflict, OperationFailed
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.journal.postgres.server import Line, Server
from folkmoot.ports import Epoch, NewRun, Query

STARTED = RunStarted("a.ai", "hello", "", "seed", "")
QUEUED = NewRun(owner="", lease=0.0)
HELD = NewRun(owner="elsewhere/1/1/x", lease=30.0)
LEFT = NewRun(owner="elsewhere/1/1/x", lease=0.0)


def drafts(*events):
    return [Draft("2026-01-01T00:00:00.000Z", event, "run", "0", "a") for event in events]


@pytest.fixture
async def journal(storage):
    journal = PostgresJournal(storage)
    yield journal
    await journal.close()


@pytest.fixture
async def queue(storage):
    queue = JobQueue(storage, "here")
    await queue.prepare()
    yield queue
    await queue.close()


async def taken(queue):
    """The runs of all jobs."""
    runs = []
    while run := await queue.take():
        runs.append(run)
    return runs


async def test_a_run_that_is_nobodys_is_written_together_with_its_job(journal, queue):
    await journal.append("run", QUEUED, drafts(STARTED))
    first = await taken(queue)
    with pytest.raises(Conflict):
        await journal.append("run", QUEUED, drafts(STARTED))

    assert (first, await taken(queue)) == (["run"], [])


async def test_a_run_that_is_somebodys_wakes_nobody(journal, queue):
    await journal.append("run", HELD, drafts(STARTED))
    await journal.post("run", "cancel")

    assert await taken(queue) == []


async def test_what_is_left_for_a_run_that_nobody_holds_wakes_one_worker(journal, queue):
    await journal.append("run", LEFT, drafts(STARTED))
    await journal.post("run", "answer", "{}", wake=False)
    silent = await taken(queue)
    await asyncio.gather(*(journal.post("run", "answer", "{}") for _ in range(3)))

    assert (silent, await taken(queue)) == ([], ["run"])


async def test_a_run_that_is_handed_over_is_nobodys_and_wakes_a_worker(journal, queue):
    await journal.append("run", LEFT, drafts(STARTED))
    claim = await journal.claim("run", "me", 30.0)
    await journal.release(claim)
    silent = await taken(queue)
    claim = await journal.claim("run", "me", 30.0)
    await journal.release(claim, wake=True)

    assert (silent, await taken(queue)) == ([], ["run"])
    assert [(claim.owner, claim.live) for claim in await journal.claims()] == [("", False)]


async def test_whoever_lost_a_run_cannot_hand_it_over(journal, queue):
    await journal.append("run", LEFT, drafts(STARTED))
    old = await journal.claim("run", "me", 0.0)
    await journal.claim("run", "you", 30.0)
    await journal.release(old, wake=True)

    assert await taken(queue) == []
    assert [(claim.owner, claim.live) for claim in await journal.claims()] == [("you", True)]


async def test_what_is_to_happen_later_can_be_wanted_sooner(journal, queue):
    await journal.append("run", LEFT, drafts(STARTED))
    await journal.wake(["run"], later=3600.0)
    await journal.wake(["run"], later=7200.0)
    silent = await taken(queue)
    await journal.wake(["run"])

    assert (silent, await taken(queue)) == ([], ["run"])


async def test_a_run_that_is_bound_wakes_only_workers_of_its_label(journal, queue, storage):
    await journal.append("ours", LEFT, drafts(STARTED, RunBound("here")))
    await journal.append("theirs", LEFT, drafts(STARTED, RunBound("there")))
    await journal.wake(["ours", "theirs"])
    there = JobQueue(storage, "there")

    assert (await taken(queue), await taken(there)) == (["ours"], ["theirs"])
    await there.close()


async def test_without_tables_nothing_wakes_anybody_and_nothing_fails(journal):
    await journal.append("run", QUEUED, drafts(STARTED))
    await journal.post("run", "cancel", "enough")

    assert [post.body for post in await journal.posts(["run"])] == ["enough"]
    assert len([entry async for entry in journal.read(Query())]) == 1


async def test_forsaken_are_the_runs_that_should_go_on_and_that_nobody_has(journal, queue):
    """DESIGN 4: every unfinished run has a job, a lease, or an open wait."""
    here = this_process()
    dead = "/".join([*here.split("/")[:2], "another start", "x"])
    ended = RunCancelled("enough")
    for run, expected, events in (
        ("ended", LEFT, [STARTED, ended]),
        ("interrupted", LEFT, [STARTED]),
        ("held", HELD, [STARTED]),
        ("held by the dead", NewRun(owner=dead, lease=30.0), [STARTED]),
        ("held by us", NewRun(owner=here, lease=30.0), [STARTED]),
        ("waiting", LEFT, [STARTED, RunParked(("q",))]),
        ("answered", LEFT, [STARTED, RunParked(("q",))]),
        ("queued", QUEUED, [STARTED]),
    ):
        await journal.append(run, expected, drafts(*events))
    await journal.post("answered", "answer", "{}", wake=False)
    elsewhere = MemoryJournal()
    await elsewhere.append("imported", LEFT, drafts(STARTED))
    await journal.restore("imported", [entry async for entry in elsewhere.stored(Query())])

    first = await queue.forsaken()
    await journal.append("interrupted", Epoch(1), drafts(ended))
    second = await queue.forsaken()
    await journal.wake(second)

    assert sorted(first) == ["answered", "held by the dead", "interrupted"]
    assert sorted(second) == ["answered", "held by the dead"]
    assert await queue.forsaken() == []


async def test_tables_are_made_once_however_many_want_them(storage):
    queues = [JobQueue(storage, "here") for _ in range(4)]
    await asyncio.gather(*(queue.prepare() for queue in queues))

    assert [await queue.take() for queue in queues] == [""] * 4
    for queue in queues:
        await queue.close()


async def test_tables_of_a_newer_procrastinate_are_left_alone(queue, storage, postgres):
    postgres.query(f"COMMENT ON SCHEMA \"folkmoot-queue_{storage.project}\" IS '99'")

    with pytest.raises(OperationFailed, match="install the same on all hosts"):
        await queue.prepare()


async def test_what_the_server_says_is_told_on_one_line_without_its_statements(storage):
    """K-12."""
    line = Line(Server(storage))
    statement = "DO $$ BEGIN\n  PERFORM 1\n/\n0;\nEND $$"

    with pytest.raises(OperationFailed) as failed:
        await line.use(partial(run_query, statement, None))

    assert str(failed.value).endswith(": division by zero")
    await line.close()


async def test_what_a_dead_worker_had_taken_is_cleared_away(journal, queue, storage, postgres):
    await journal.append("run", QUEUED, drafts(STARTED))
    schema = f'"folkmoot-queue_{storage.project}"'
    await queue.take()
    workers = f"INSERT INTO {schema}.procrastinate_workers (last_heartbeat)"
    ((dead,),) = postgres.query(f"{workers} VALUES (now() - interval '1 h') RETURNING id")
    postgres.query(
        f"SET search_path TO {schema}; INSERT INTO procrastinate_jobs (queue_name, task_name, status, worker_id)"
        f" VALUES ('runs', 'activate', 'doing', {dead})"
    )

    await queue.beat(30.0)

    assert postgres.query(f"SELECT count(*) FROM {schema}.procrastinate_jobs") == [(0,)]
    assert postgres.query(f"SELECT count(*) FROM {schema}.procrastinate_workers") == [(1,)]
    assert await queue.forsaken() == ["run"]
