"""A run that its process leaves to another: nothing of that is in the journal, and nothing is done twice for it."""

import asyncio

import pytest

from folkmoot import MemoryJournal, WrongUse
from folkmoot.domain.errand import Errand
from folkmoot.errors import HandedOver
from tests.fakes import fake

CALL = {"calls": [{"tool": "work"}]}


class Bench:
    """A tool that takes as long as the test wants."""

    def __init__(self):
        self.go_on = asyncio.Event()
        self.tool = fake("work", effect="once", access="write", does=self.go_on.wait)
        self.busy = self.tool.reached


async def handed_over(at, bench, *, at_once=False):
    """Until the first call is under way; then it is left, and the call ends unless that was at once."""
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a", "hello"))
        await asyncio.wait_for(bench.busy.wait(), 60)
        moot._engine.hand_over(at_once=at_once)
        if not at_once:
            bench.go_on.set()
        with pytest.raises(HandedOver):
            await running
        return await at.played(await moot.result("run-1"))


async def test_what_is_under_way_ends_and_nothing_new_begins(desk):
    bench = Bench()
    at = desk({"a": "tools: [work]"}, {"a": [CALL, CALL, "fine"]}, tools=[bench.tool])

    left = await handed_over(at, bench)
    ended = await at.resumed()

    assert left.types[-1] == "tool.finished"
    assert (ended.report, len(bench.tool.calls)) == ("fine", 2)
    assert not [type for type in ended.types if "cancel" in type or "park" in type or "doubt" in type]


async def test_what_is_cut_off_leaves_no_trace_and_is_in_doubt_for_who_goes_on(desk):
    """C3: as after a crash."""
    bench = Bench()
    at = desk({"a": "tools: [work]"}, {"a": [CALL, "fine"]}, tools=[bench.tool])

    left = await handed_over(at, bench, at_once=True)
    async with at.open() as moot:
        waiting = await moot.resume("run-1")

    assert left.types[-1] == "tool.started"
    assert waiting.status == "waiting"
    assert [item.kind for item in waiting.inbox] == ["in_doubt"]


async def test_branches_that_wait_for_a_person_do_not_hold_up_the_others(desk):
    bench = Bench()
    script = {
        "a": [{"calls": [{"tool": "ask_user", "arguments": {"question": "why?"}}, *CALL["calls"]]}, "fine"]
    }
    at = desk({"a": "tools: [work, ask_user]"}, script, tools=[bench.tool])

    left = await handed_over(at, bench)

    assert "run.parked" not in left.types
    assert left.types[-1] == "tool.finished"


async def test_a_run_that_is_being_left_can_still_be_cancelled(desk):
    """C5: a stop that was acknowledged holds."""
    bench = Bench()
    at = desk({"a": "tools: [work]"}, {"a": [CALL, "fine"]}, tools=[bench.tool])
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a", "hello"))
        await asyncio.wait_for(bench.busy.wait(), 60)
        moot._engine.hand_over()
        await moot.cancel("run-1", "enough")

        assert (await running).status == "cancelled"


async def test_a_run_that_comes_too_late_is_left_before_it_begins(desk):
    at = desk({"a": ""}, {"a": ["fine"]})
    async with at.open() as moot:
        moot._engine.hand_over()
        with pytest.raises(HandedOver):
            await moot.run("a", "hello")

    assert not at.model.heard


async def test_only_shared_journals_have_workers(desk):
    at = desk({"a": ""}, {"a": ["fine"]})
    async with at.open() as moot:
        with pytest.raises(WrongUse, match=r"set `storage\.url`"):
            await moot.submit("a", "hello")


class Shared(MemoryJournal):
    shared = True


async def test_a_run_that_has_its_name_before_is_left_to_workers_once(desk):
    at = desk({"a": ""}, {"a": ["fine"]})
    at.journal = Shared(at.clock.monotonic)
    async with at.open() as moot:
        runs = [await moot.submit("a", "hello", Errand(run="mine")) for _ in range(2)]
        assert (runs, len(await moot.runs())) == (["mine", "mine"], 1)
