"""Runs whose journal fails under them, and clocks that jump."""

import asyncio
import resource
from contextlib import contextmanager
from datetime import timedelta

import pytest

from folkmoot import MemoryJournal, tool
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RunCancelled
from folkmoot.errors import Held, OperationFailed, StaleOwner, WrongUse
from folkmoot.journal import writer
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Epoch, Query
from tests.orchestration.calling import calling

ASK = {"tool": "ask_user", "arguments": {"question": "How much?"}}
SEND = {"tool": "send", "arguments": {"to": "ann"}}
SLOW = {"a": [{"delay": "1h", "text": "late"}]}


@contextmanager
def small_files(size):
    """No file may grow beyond this: what a disk does that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
async def sqlite(tmp_path, desk, monkeypatch):
    """A journal on the disk that commits in the event loop, however slow that is: who advances a clock by hand cannot
    wait for a thread."""
    monkeypatch.setattr(writer, "_QUICK", 60.0)
    journals = []

    def opened(at):
        at.journal = SqliteJournal.open(tmp_path, at.clock.monotonic)
        journals.append(at.journal)
        return at

    yield opened
    for journal in journals:
        await journal.close()


async def test_a_run_whose_journal_fails_while_a_branch_waits_for_a_person_ends_at_once(desk, sqlite):
    """C1: it would wait for ever for what can never be recorded; when the fault is gone it goes on."""
    failing = []

    @tool(effect="once", access="write")
    async def send(to: str) -> str:
        """Send it."""
        failing[0].__enter__()
        return "sent"

    files, script = {"desk": "tools: [ask_user, send]"}, {"desk": [{"calls": [ASK, SEND]}, "ok"]}
    at = sqlite(desk(files, script, tools=[send]))
    failing.append(small_files(1_000))
    async with at.open() as moot:
        with pytest.raises(OperationFailed, match="takes no more entries"):
            await moot.run("desk", "hello", wait=True)
        failing[0].__exit__(None, None, None)
    at = sqlite(desk(files, script, tools=[send]))
    await at.clock.advance(31)
    async with at.open() as moot:
        assert (await moot.runs())[0].status == "interrupted"
        result = await moot.resume("run-1")

    assert result.status == "waiting"
    assert {item.kind for item in result.inbox} == {"question", "in_doubt"}


async def test_a_run_that_somebody_else_took_over_ends_here_at_once(desk):
    """DESIGN 4: the epoch decides; nothing waits on under the old one."""
    at = desk({"desk": "tools: [ask_user]"}, {"desk": [{"calls": [ASK]}, "ok"]})
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("desk", "hello", wait=True))
        await at.clock.advance(0.1)
        await at.journal.claim("run-1", "another", 30.0, after=moot._engine.owner)
        [item] = await moot.inbox()
        with pytest.raises(StaleOwner):
            await moot.reply(item.answer("five"))
        with pytest.raises(StaleOwner):
            await running


class OftenLocked(MemoryJournal):
    """A journal that another process keeps locked whenever a lease is to be renewed."""

    renewed = 0

    async def renew(self, claims, lease):
        self.renewed += 1
        raise OperationFailed("another process kept the journal locked")


async def test_a_lease_that_cannot_be_renewed_now_is_tried_again_and_the_inbox_is_still_read(desk):
    """C5: a cancel that another process leaves still reaches the run."""
    at = desk({"a": ""}, SLOW)
    at.journal = OftenLocked(at.clock.monotonic)
    async with at.open() as mine, at.open() as theirs:
        running = asyncio.ensure_future(mine.run("a", "hi"))
        await at.clock.advance(25)
        asked = asyncio.ensure_future(theirs.cancel("run-1", "enough"))
        await at.clock.advance(1)
        await asked
        result = await running

    assert at.journal.renewed == 2
    assert (result.status, result.error) == ("cancelled", "enough")


async def test_of_two_who_go_on_with_a_run_in_one_process_the_second_is_told(desk):
    """DESIGN 4: they are one owner to the journal, and would fence each other off in the middle of a call."""
    at = desk({"desk": "tools: [ask_user]"}, {"desk": [{"calls": [ASK]}, "ok"]})
    async with at.open() as moot:
        await moot.run("desk", "hello")
        first, second = await asyncio.gather(
            moot.resume("run-1"), moot.resume("run-1"), return_exceptions=True
        )

    assert first.status == "waiting"
    assert isinstance(second, Held)


async def test_a_run_that_is_stopped_while_this_process_takes_it_over_ends_as_stopped(desk):
    """C5: whoever goes on with it gets its end as the result, and no error."""
    at = desk({"desk": "tools: [ask_user]"}, {"desk": [{"calls": [ASK]}, "ok"]})
    async with at.open() as moot:
        await moot.run("desk", "hello")
        resumed = asyncio.ensure_future(moot.resume("run-1", wait=True))
        stopped = asyncio.ensure_future(moot.cancel("run-1", "enough"))
        await at.clock.advance(1)
        await stopped
        result = await resumed

    assert (result.status, result.error) == ("cancelled", "enough")


class Watched(MemoryJournal):
    """Remembers how each run stood when something was taken out of its inbox."""

    async def take(self, post):
        entries = [entry async for entry in self.read(Query(stream=post.run))]
        self.stood = [entry.event.type for entry in entries][-1]
        await super().take(post)


async def test_a_cancel_in_the_inbox_is_taken_only_when_the_run_is_over(desk):
    """C5: a process that dies while it takes over a run does not lose what somebody asked of it."""
    at = desk({"desk": "tools: [ask_user]"}, {"desk": [{"calls": [ASK]}, "ok"]})
    at.journal = Watched(at.clock.monotonic)
    async with at.open() as moot:
        assert (await moot.run("desk", "hello")).status == "waiting"
        await at.journal.post("run-1", "cancel", "enough")
        result = await moot.resume("run-1")

    assert (result.status, result.error) == ("cancelled", "enough")
    assert at.journal.stood == "run.cancelled"
    assert await at.journal.posts(["run-1"]) == []


@pytest.mark.parametrize("hours", [5, -5])
async def test_a_clock_that_jumps_ends_no_lease_no_timeout_and_no_budget(desk, sqlite, hours):
    """Leases, timeouts and `wall` go by time that never jumps."""
    at = sqlite(desk({"a": "llmTimeout: 2m\nbudget: {wall: 2m}"}, {"a": [{"delay": "1m", "text": "late"}]}))
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a", "hi"))
        await at.clock.advance(1)
        at.clock._start += timedelta(hours=hours)
        await at.clock.advance(1)
        assert [claim.live for claim in await at.journal.claims()] == [True]
        assert [row.status for row in await moot.runs()] == ["running"]
        await at.clock.advance(60)
        result = await running

    assert result.success, result.error


class Slow(MemoryJournal):
    """Somebody else ends the run while it is being claimed."""

    async def claim(self, run, owner, lease, after=""):
        end = Draft("2026-01-01T00:00:00.000Z", RunCancelled(reason="by another"), run, "0", "desk")
        await self.append(run, Epoch(1), [end])
        return await super().claim(run, owner, lease, after)


async def test_a_run_that_ends_while_it_is_being_taken_over_has_one_end(desk):
    """Ends: every run reaches exactly one."""
    for what in ("cancel", "resume"):
        at = desk({"desk": "tools: [ask_user]"}, {"desk": [{"calls": [ASK]}, "ok"]})
        at.journal = Slow(at.clock.monotonic)
        async with at.open() as moot:
            await moot.run("desk", "hello")
            if what == "cancel":
                with pytest.raises(WrongUse, match="over already: cancelled"):
                    await moot.cancel("run-1")
            else:
                assert (await moot.resume("run-1")).error == "by another"
            types = [entry.event.type async for entry in moot.events("run-1")]

        assert types.count("run.cancelled") == 1, what


async def test_a_run_that_is_stopped_before_it_came_back_to_its_children_ends_them_too(desk):
    """Ends: every session that began has one, also one that began in an earlier process."""
    files = {"desk": "", "clerk": "tools: [ask_user]"}
    missions = [{"mission": f"count {n}", "specialist": "clerk"} for n in range(3)]
    together = {"tool": "call_agents_parallel", "arguments": {"missions": missions}}
    script = {"desk": [{"calls": [together]}, "ok"], "clerk": [{"calls": [ASK]}, "3"]}
    at = desk(files, script, settings=calling())
    async with at.open() as moot:
        assert (await moot.run("desk", "hello")).status == "waiting"
        resumed = asyncio.ensure_future(moot.resume("run-1"))
        for _ in range(100):
            if moot._engine.activation("run-1"):
                break
            await asyncio.sleep(0)
        await moot.cancel("run-1")
        played = await at.played(await resumed)

    assert played.result.status == "cancelled"
    assert played.types.count("session.started") == played.types.count("session.cancelled") == 4
