"""Old runs go; what stays hangs together and says what became of them."""

import asyncio

import pytest

from folkmoot import MemoryJournal, tool
from folkmoot.app import PINS_STAY
from folkmoot.contract.verify import verify
from folkmoot.domain.events import RunPruned
from folkmoot.engine import runs as pruning
from folkmoot.engine.claims import RunIdentity
from folkmoot.engine.runs import list_runs, prune_runs, select_prunable
from folkmoot.errors import WrongUse
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import NewRun, Query

DAY = 86_400.0
AGENTS = {"desk": "tools: [look, ask_user]\ntoolResponseMaxBytes: 1000"}
LOOK = {"calls": [{"tool": "look", "arguments": {"what": "a"}}]}
ASK = {"calls": [{"tool": "ask_user", "arguments": {"question": "Which?"}}]}


@tool(effect="pure", access="read")
async def look(what: str) -> str:
    """Look at something large."""
    return what * 5000


def memory(clock, folder):
    return MemoryJournal(clock.monotonic)


def sqlite(clock, folder):
    return SqliteJournal.open(folder, clock.monotonic, wall=clock.monotonic)


@pytest.fixture(params=[memory, sqlite])
async def at(desk, tmp_path, request):
    at = desk(AGENTS, {"desk": [LOOK, "seen"]}, tools=[look])
    at.journal = request.param(at.clock, tmp_path)
    yield at
    await at.journal.close()


async def ran(at, run):
    at.identity = RunIdentity(run, f"seed of {run}")
    return await at.run("desk.ai")


async def pruned(at, older_than):
    return await prune_runs(
        at.journal, select_prunable(await list_runs(at.journal), at.clock, older_than), at.clock
    )


async def statuses(at):
    return {row.run_id: row.status for row in await list_runs(at.journal)}


async def test_runs_that_ended_long_ago_go_and_their_tombstones_stay(at):
    """Issue 4, keeping house: verify still holds, with the last hash in the tombstone."""
    played = await ran(at, "old")
    artifact = played.events("tool.finished")[0].artifact
    last = [entry async for entry in at.journal.read(Query(stream="old"))][-1]
    await at.clock.advance(31 * DAY)
    await ran(at, "new")

    done = await pruned(at, 30 * DAY)

    assert (done.runs, done.entries) == (1, len(played.drafts))
    assert await statuses(at) == {"new": "completed", "old": "pruned"}
    (tombstone,) = [entry async for entry in at.journal.read(Query(stream="old"))]
    assert (tombstone.prev, tombstone.run_seq) == (last.id, last.run_seq + 1)
    assert (await verify(at.journal)).faults == []
    assert (await verify(at.journal)).counts["pruned"] == 1
    assert await at.journal.artifact(artifact)  # the new run names the same result
    assert (await pruned(at, 30 * DAY)).runs == 0


async def test_what_only_pruned_runs_name_goes_and_the_next_run_brings_its_project_along(at, monkeypatch):
    """Issue 4: a process that has a project open may start its next run when the last one was pruned."""
    monkeypatch.setattr(pruning, "YOUNG", 10.0)
    async with at.open() as moot:
        old = await at.played(await moot.run("desk.ai", "x"))
        artifact, graph = old.events("tool.finished")[0].artifact, old.events("run.started")[0].graph
        await at.clock.advance(2 * PINS_STAY)

        done = await pruned(at, 10.0)

        assert done.swept.artifacts >= 2
        for id in (artifact, graph):
            with pytest.raises(KeyError):
                await at.journal.artifact(id)
        at.identity = RunIdentity("run-2", "another seed")
        await moot.run("desk.ai", "x")

    assert (await verify(at.journal)).faults == []
    assert await at.journal.artifact(graph)


async def test_runs_that_wait_or_were_interrupted_or_are_young_stay(desk):
    """Issue 4: only whole ended runs."""
    at = desk(AGENTS, {"desk": [ASK, "seen"]}, tools=[look])
    await at.run("desk.ai")
    other = desk(AGENTS, {"desk": [LOOK, "seen"]}, tools=[look])
    other.journal, other.clock, other.identity = at.journal, at.clock, RunIdentity("done", "seed")
    played = await other.run("desk.ai")
    await at.journal.append("cut", NewRun("host/0/0/gone", 0.0), played.drafts[:-1])
    await at.clock.advance(DAY)

    assert await statuses(at) == {"run-1": "waiting", "done": "completed", "cut": "interrupted"}
    assert select_prunable(await list_runs(at.journal), at.clock, 2 * DAY) == []
    assert [row.run_id for row in select_prunable(await list_runs(at.journal), at.clock, DAY / 2)] == ["done"]


async def test_a_pruned_run_is_over_for_good(at):
    await ran(at, "old")
    await at.clock.advance(DAY)
    await pruned(at, 1.0)

    async with at.open() as moot:
        assert (await moot.resume("old")).status == "pruned"
        assert (await moot.result("old")).status == "pruned"
        with pytest.raises(WrongUse, match="over already: pruned"):
            await moot.cancel("old")
        assert await moot.inbox("old") == []


async def test_of_two_who_prune_at_once_one_does_it(at):
    await ran(at, "old")
    await at.clock.advance(DAY)
    rows = select_prunable(await list_runs(at.journal), at.clock, 1.0)

    both = await asyncio.gather(
        prune_runs(at.journal, rows, at.clock), prune_runs(at.journal, rows, at.clock)
    )

    assert sorted(done.entries > 0 for done in both) == [False, True]
    entries = [entry.event async for entry in at.journal.read(Query(stream="old"))]
    assert [type(event) for event in entries] == [RunPruned]
