"""Tools that somebody takes from one session of a run, whoever holds it."""

import asyncio

import pytest

from folkmoot import Folkmoot
from folkmoot.errors import WrongUse
from tests.desk import SETTINGS
from tests.fakes import fake

FILES = {"desk": "tools: [save, wait]\nagents: [clerk.ai]", "clerk": "tools: [save]"}
ASK_CLERK = {"tool": "agent__clerk", "arguments": {"prompt": "p", "reason": "r"}}
WAIT, SAVE = {"tool": "wait"}, {"tool": "save", "arguments": {"path": "a"}}
OFF = SETTINGS + "gate: {taint: off}"


class Disk:
    def __init__(self):
        self.saved, self.go_on = [], asyncio.Event()
        save = fake("save(path)", "saved", access="write", calls=self.saved)
        self.wait = fake("wait", "waited", does=self.go_on.wait)
        self.tools = [save, self.wait]


async def during(at, disk, act):
    """A run, and what somebody does while its first tool is under way."""
    async with at.open() as moot:
        going = asyncio.ensure_future(moot.run("desk", "hello"))
        await disk.wait.reached.wait()
        await act(moot)
        disk.go_on.set()
        played = await at.played(await going)
        assert (await moot.replay("run-1")).divergence == ""
    return played


async def test_a_gated_tool_is_neither_offered_nor_made_and_other_sessions_keep_it(desk):
    """E-67, X-4: offered = … − gated(session)."""
    disk = Disk()
    script = {
        "desk": [{"calls": [WAIT]}, {"calls": [SAVE, ASK_CLERK]}, "ok"],
        "clerk": [{"calls": [SAVE]}, "ok"],
    }
    at = desk(FILES, script, tools=disk.tools, settings=OFF)

    async def gate(moot):
        await moot.gate("run-1", "save", by="ann", reason="not yet")
        assert [(row.id, row.agent_id, row.tools) for row in await moot.gates("run-1")] == [
            ("run-1", "desk", ("save",))
        ]

    played = await during(at, disk, gate)

    assert played.offered("desk", 0)[:2] == ["save", "wait"]
    assert played.offered("desk", 1)[:2] == ["wait", "agent__clerk"]
    (failed,) = played.events("tool.failed")
    assert (failed.tool, failed.code) == ("save", "gated")
    assert disk.saved == ["a"], "the clerk's session has its tool"
    (changed,) = played.events("gate.changed")
    assert (changed.session, changed.gated, changed.by, changed.reason) == (
        "run-1",
        ("save",),
        "ann",
        "not yet",
    )


async def test_what_was_taken_can_be_given_back_and_taken_again(desk):
    """E-67: approve frees it, revoke blocks again, query lists."""
    disk = Disk()
    at = desk(FILES, {"desk": [{"calls": [WAIT]}, {"calls": [SAVE]}, "ok"]}, tools=disk.tools, settings=OFF)

    async def change(moot):
        for act in (moot.gate, moot.ungate, moot.gate):
            await act("run-1", "save")
        assert [row.tools for row in await moot.gates("run-1")] == [("save",)]
        await moot.ungate("run-1", "save")
        assert await moot.gates("run-1") == []

    await during(at, disk, change)
    assert disk.saved == ["a"]


async def test_a_call_that_was_approved_is_refused_if_its_tool_is_gated_by_then(desk):
    """E-67, U-12: in a run that nobody holds; it still waits for the same."""
    disk = Disk()
    asking = OFF + "\nrules: [{tool: save, decision: ask}]"
    at = desk(
        {"desk": "tools: [save]"}, {"desk": [{"calls": [SAVE]}, "ok"]}, tools=disk.tools, settings=asking
    )
    async with at.open() as moot:
        result = await moot.run("desk", "hello")
        await moot.gate("run-1", "save")
        assert (await moot.result("run-1")).status == "waiting"
        (item,) = result.inbox
        await moot.reply(item.approve())
        played = await at.played(await moot.resume("run-1"))
        assert (await moot.replay("run-1")).divergence == ""

    assert played.events("tool.failed")[0].code == "gated"
    assert disk.saved == []


async def test_another_process_gates_a_session_of_a_run_that_it_does_not_hold(desk):
    """E-67: posted to the run, as a stop is."""
    disk = Disk()
    at = desk(FILES, {"desk": [{"calls": [WAIT]}, {"calls": [SAVE]}, "ok"]}, tools=disk.tools, settings=OFF)

    async def from_elsewhere(moot):
        async with at.open() as other:
            assert isinstance(other, Folkmoot)
            gating = asyncio.ensure_future(other.gate("run-1", "save"))
            while not gating.done():
                await at.clock.advance(0.25)
            await gating

    played = await during(at, disk, from_elsewhere)
    assert played.events("tool.failed")[0].code == "gated"


async def test_a_session_that_never_was_or_has_ended_cannot_be_gated(desk):
    disk = Disk()
    at = desk({"desk": ""}, {"desk": ["ok"]}, tools=disk.tools)
    await at.run("desk")
    async with at.open() as moot:
        with pytest.raises(WrongUse, match="is over already"):
            await moot.gate("run-1", "save")
        with pytest.raises(WrongUse, match="there is no run"):
            await moot.gate("run-2:x", "save")
