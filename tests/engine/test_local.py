"""Runs in this process, and what others may do to them."""

import asyncio
import os
import socket
import subprocess
from pathlib import Path

import pytest

from folkmoot import MemoryJournal, WrongUse
from folkmoot.engine.claims import RunIdentity, _read_start_time, host_of, is_owner_gone, this_process
from folkmoot.errors import Held, OperationFailed
from folkmoot.ports import NewRun

SLOW = {"a": [{"delay": "1h", "text": "late"}]}


async def test_a_name_that_is_taken_is_drawn_again(desk):
    at = desk({"a": ""}, {"a": ["hi"]})
    names = iter(["run-1", "run-1", "run-2"])
    async with at.open() as moot:
        moot._engine._identify = lambda _: RunIdentity(next(names), "seed")
        first, second = await moot.run("a", "hi"), await moot.run("a", "hi")

    assert (first.run_id, second.run_id) == ("run-1", "run-2")
    assert second.success


async def test_cancelling_the_caller_cancels_the_run_and_records_it(desk):
    at = desk({"a": ""}, SLOW)
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a", "hi"))
        await at.clock.advance(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await moot.result("run-1")).status == "cancelled"


async def test_closing_a_project_cancels_what_still_runs(desk):
    at = desk({"a": ""}, SLOW)
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a", "hi"))
        await at.clock.advance(1)

    assert (await running).status == "cancelled"


async def test_a_cancel_left_in_the_inbox_reaches_the_owner(desk):
    """C5, pains 14: by whoever holds the run."""
    at = desk({"a": ""}, SLOW)
    async with at.open() as mine, at.open() as theirs:
        running = asyncio.ensure_future(mine.run("a", "hi"))
        await at.clock.advance(0.1)
        asked = asyncio.ensure_future(theirs.cancel("run-1", "enough"))
        await at.clock.advance(1)
        await asked
        result = await running

    assert (result.status, result.error) == ("cancelled", "enough")


async def test_a_run_that_nobody_holds_is_ended_by_its_canceller(desk):
    """DESIGN 8; every session that began gets its end."""
    at = desk({"a": ""}, SLOW)
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a", "hi"))
        await at.clock.advance(1)
        drafts = (await at.played(await moot.result("run-1"))).drafts
        running.cancel()
    at.journal = MemoryJournal(at.clock.monotonic)
    await at.journal.append("run-1", NewRun("host/1/1/x", 0.0), drafts)
    async with at.open() as moot:
        assert (await moot.result("run-1")).status == "interrupted"
        await moot.cancel("run-1", "nobody wants it")
        played = await at.played(await moot.result("run-1"))

    assert played.result.status == "cancelled"
    assert played.types[-2:] == ["session.cancelled", "run.cancelled"]


async def test_a_run_held_by_another_cannot_be_resumed(desk):
    at = desk({"a": ""}, SLOW)
    async with at.open() as mine, at.open() as theirs:
        running = asyncio.ensure_future(mine.run("a", "hi"))
        await at.clock.advance(0.1)
        with pytest.raises(Held, match="is in the hands of"):
            await theirs.resume("run-1")
        running.cancel()


async def test_a_finished_run_cannot_be_cancelled_and_an_unknown_one_is_named(desk):
    at = desk({"a": ""}, {"a": ["hi"]})
    async with at.open() as moot:
        await moot.run("a", "hi")
        with pytest.raises(WrongUse, match="over already: completed"):
            await moot.cancel("run-1")
        with pytest.raises(WrongUse, match="there is no run 'nope'"):
            await moot.cancel("nope")


async def test_a_lease_is_renewed_as_long_as_the_run_lasts(desk):
    at = desk({"a": ""}, SLOW)
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a", "hi"))
        await at.clock.advance(100)
        assert [claim.live for claim in await at.journal.claims()] == [True]
        assert (await moot.runs())[0].status == "running"
        running.cancel()


def test_this_process_is_alive_and_one_that_ended_is_gone():
    me = this_process()
    host = me.partition("/")[0]

    assert not is_owner_gone(me)
    assert me != this_process()
    assert is_owner_gone(f"{host}/999999999/1/x")
    assert is_owner_gone("/".join([*me.split("/")[:2], "another start", "x"]))
    assert not is_owner_gone("elsewhere/1/1/x")


def test_of_a_process_on_another_machine_of_the_same_name_nothing_is_known():
    """Containers and hosts may share a name, and their process ids have nothing to do with each other."""
    name = this_process().partition("+")[0]

    assert name == socket.gethostname()
    assert not is_owner_gone(f"{name}+00000000/999999999/1/x")
    assert not is_owner_gone(f"{name}/999999999/1/x")
    assert host_of(this_process()) == name


def test_a_process_that_is_dead_but_not_buried_is_gone_where_the_system_tells():
    me = this_process().split("/")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        owner = f"{me[0]}/{process.pid}/{_read_start_time(process.pid)}/x"
        assert not is_owner_gone(owner)

        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        assert is_owner_gone(owner) == Path("/proc/self/stat").exists()


async def test_a_journal_that_was_away_is_attended_to_again(desk):
    """A lease is renewed, and a cancel heard, after the server has come back."""
    at = desk({"a": ""}, SLOW)

    class Shaky(MemoryJournal):
        away = False

        async def posts(self, runs):
            if self.away:
                raise OperationFailed("no answer")
            return await super().posts(runs)

    at.journal = Shaky(at.clock.monotonic)
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a", "hi"))
        await at.clock.advance(1)
        at.journal.away = True
        await at.clock.advance(10)
        at.journal.away = False
        await at.journal.post("run-1", "cancel", "enough")
        await at.clock.advance(1)

        assert (await running).status == "cancelled"
