"""A work session is paused: its runs make no model call, wherever they are, and go on when it does."""

import asyncio

import pytest

from folkmoot import WrongUse, tool
from folkmoot.coordination.work_sessions import paused
from folkmoot.coordination.work_teams import Seat
from folkmoot.domain.errand import Errand
from folkmoot.domain.work_session import Policy, WorkSessionOpened
from folkmoot.engine.activation import RunRequest
from folkmoot.engine.commands import is_paused
from folkmoot.engine.local import LocalEngine
from folkmoot.ports import Query

CALL = {"calls": [{"tool": "work"}]}


class Bench:
    """A tool that takes as long as the test wants."""

    def __init__(self, name="work"):
        self.go_on = asyncio.Event()
        self.busy = asyncio.Event()

        async def work() -> str:
            self.busy.set()
            await self.go_on.wait()
            return "done"

        work.__name__ = name
        self.tool = tool(effect="pure", access="read")(work)


async def opened(moot, goal="Ship it"):
    return (await moot.moot.work_sessions.open(WorkSessionOpened(goal), chance="a die")).id


async def test_no_run_starts_in_a_paused_work_session(desk):
    """D-10: refused with a clear text; no model is asked."""
    at = desk({"a": ""}, {"a": ["fine"]})
    async with at.open() as moot:
        work = await opened(moot)
        await moot.control.pause(work, "the budget is checked")

        with pytest.raises(
            WrongUse, match=rf"{work} is paused \(the budget is checked\): .* folkmoot work resume"
        ):
            await moot.run("a", "hello", errand=Errand(work))
        await moot.control.resume(work)
        result = await moot.run("a", "hello", errand=Errand(work))

    assert result.success
    assert len(at.model.heard) == 1


@pytest.mark.parametrize("here", [True, False], ids=["held here", "held by another process"])
async def test_a_run_under_way_asks_no_model_once_its_work_session_is_paused(desk, here):
    """D-10: what is under way ends; the run waits, and goes on where it was."""
    bench = Bench()
    at = desk({"a": "tools: [work]"}, {"a": [CALL, "fine"]}, tools=[bench.tool])
    async with at.open() as moot:
        work = await opened(moot)
        running = asyncio.ensure_future(moot.run("a", "hello", errand=Errand(work)))
        await asyncio.wait_for(bench.busy.wait(), 60)

        if here:
            assert await moot.control.pause(work) == ["run-1"]
        else:
            await moot.moot.work_sessions.change(work, paused())
            assert await LocalEngine(at.journal, at.clock).look_at_pause(work) == ["run-1"]
            while await at.journal.posts(["run-1"]):
                await at.clock.advance(0.25)
        bench.go_on.set()
        rested = await running
        again = await moot.resume("run-1")
        asked = len(at.model.heard)
        await moot.control.resume(work)
        ended = await at.played(await moot.resume("run-1"))
        replayed = await moot.replay("run-1")

    assert (replayed.equal, replayed.divergence) == (True, "")
    assert (rested.status, rested.waiting, again.waiting, asked) == ("waiting", [work], [work], 1)
    assert ended.report == "fine"
    assert ended.types.count("run.parked") == 1


async def test_a_run_that_began_just_after_the_pause_asks_no_model(desk):
    """D-10: whoever pauses could not see the run yet, so it looks itself."""
    at = desk({"a": ""}, {"a": ["fine"]})
    async with at.open() as moot:
        work = await opened(moot)
        await moot.moot.work_sessions.change(work, paused())
        asked = RunRequest("a.ai", "hello", Errand(work))  # admitted before

        result = await moot._engine.start(moot._project, asked)
        replayed = await moot.replay("run-1")

    assert replayed.equal
    assert (result.status, result.waiting, at.model.heard) == ("waiting", [work], [])


async def test_a_run_that_waits_for_a_word_does_not_go_on_while_its_work_session_is_paused(desk):
    """D-10: an answer is taken in, but no model is asked; afterwards it happens again from its journal."""
    question = {"calls": [{"tool": "ask_user", "arguments": {"question": "why?"}}]}
    at = desk({"a": "tools: [ask_user]"}, {"a": [question, "fine"]})
    async with at.open() as moot:
        work = await opened(moot)
        (item,) = (await moot.run("a", "hello", errand=Errand(work))).inbox
        await moot.control.pause(work)
        rested = await moot.resume("run-1")
        await moot.reply(item.answer("because"))
        again = await moot.resume("run-1")
        await moot.control.resume(work)
        ended = await at.played(await moot.resume("run-1"))
        replayed = await moot.replay("run-1")

    assert (rested.waiting, again.waiting) == ([work, item.id], [work])
    assert (ended.report, ended.types.count("run.parked")) == ("fine", 3)
    assert (replayed.equal, replayed.divergence) == (True, "")


async def test_branches_end_what_is_under_way_and_the_pause_can_be_replayed(desk):
    """D-10: parallel calls end in their own time; none of them leads to another request."""
    benches = {name: Bench(name) for name in ("b", "c")}
    mission = {"prompt": "do it", "reason": "it must be done"}
    both = {"calls": [{"tool": f"agent__{name}", "arguments": mission} for name in ("left", "right")]}
    script = {
        "a": [both, "fine"],
        "left": [{"calls": [{"tool": "b"}]}, "left"],
        "right": [{"calls": [{"tool": "c"}]}, "right"],
    }
    files = {"a": "agents: [left.ai, right.ai]", "left": "tools: [b]", "right": "tools: [c]"}
    at = desk(files, script, tools=[bench.tool for bench in benches.values()])
    async with at.open() as moot:
        work = await opened(moot)
        running = asyncio.ensure_future(moot.run("a", "hello", errand=Errand(work)))
        for bench in benches.values():
            await asyncio.wait_for(bench.busy.wait(), 60)
        await moot.control.pause(work)
        for bench in benches.values():
            bench.go_on.set()
            await at.clock.advance(0)
        rested = await running
        asked = len(at.model.heard)
        await moot.control.resume(work)
        ended = await at.played(await moot.resume("run-1"))
        replayed = await moot.replay("run-1")

    assert (rested.waiting, asked, ended.report) == ([work], 3, "fine")
    assert (replayed.equal, replayed.divergence) == (True, "")


async def test_the_work_session_of_a_plain_run_can_be_paused_too(desk):
    """D-10, E-9: every run belongs to one."""
    bench = Bench()
    at = desk({"a": "tools: [work]"}, {"a": [CALL, "fine"]}, tools=[bench.tool])
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("a", "hello"))
        await asyncio.wait_for(bench.busy.wait(), 60)
        (started,) = [e async for e in at.journal.read(Query(types=("run.started",)))]
        work = started.draft.work_session_id

        await moot.control.pause(work)
        bench.go_on.set()

        assert (await running).waiting == [work]
        assert await is_paused(at.journal, work)


async def test_a_work_session_that_is_given_up_stops_its_runs(desk):
    """D-10, D-12: stop."""
    bench = Bench()
    at = desk({"a": "tools: [work]"}, {"a": [CALL, "fine"]}, tools=[bench.tool])
    async with at.open() as moot:
        work = await opened(moot)
        running = asyncio.ensure_future(moot.run("a", "hello", errand=Errand(work)))
        await asyncio.wait_for(bench.busy.wait(), 60)

        assert await moot.control.cancel(work, "no longer wanted") == ["run-1"]

        assert (await running).status == "cancelled"
        with pytest.raises(WrongUse, match="is Cancelled; open another"):
            await moot.run("a", "hello", errand=Errand(work))


async def test_a_run_in_an_archived_work_session_starts_a_new_one_that_names_it(desk):
    """E-9, D-13: a new id with previousWorkSessionId; goal and team go along; it stays the one."""
    at = desk({"a": ""}, {"a": ["fine", "fine", "fine"]})
    async with at.open() as moot:
        work = await opened(moot)
        await moot.moot.work_sessions.form(work, [Seat("worker")])
        await at.clock.advance(86_400)
        same = await moot.run("a", "hello", errand=Errand(work))
    await at.clock.advance(86_401)
    at.identity = type(at.identity)("run-2", "another seed")
    async with at.open() as moot:
        await moot.run("a", "and now?", errand=Errand(work))
        records = await moot.moot.work_sessions.all()

    at.identity = type(at.identity)("run-3", "a third seed")
    async with at.open() as moot:
        await moot.run("a", "and then?", errand=Errand(work))

    assert (await at.played(same)).drafts[0].work_session_id == work
    (first, second) = records.values()
    assert (second.goal, second.previous, second.team) == ("Ship it", first.id, first.team)
    begun = [e.draft.work_session_id async for e in at.journal.read(Query(types=("run.started",)))]
    assert begun == [first.id, second.id, second.id]


async def test_a_run_of_a_member_may_use_only_what_its_team_lets_it_use(desk):
    """D-36: the policy of the run is narrowed before it begins, and recorded."""
    at = desk({"a": "tools: [work]"}, {"a": ["fine"]}, tools=[Bench().tool])
    async with at.open() as moot:
        work = await opened(moot)
        await moot.moot.work_sessions.form(work, [Seat("worker", policy=Policy(tools=("files.*",)))])

        played = await at.played(await moot.run("a", "hello", errand=Errand(work)))

    (started,) = played.events("run.started")
    assert started.errand.policy.tools == ("files.*",)


async def test_a_member_that_may_not_execute_is_given_no_step(desk):
    """D-36: refused, logged, and no model is asked."""
    at = desk({"a": ""}, {"a": ["fine"]})
    async with at.open() as moot:
        work = await opened(moot)
        await moot.moot.work_sessions.form(work, [Seat("worker", policy=Policy(actions=("vote",)))])

        with pytest.raises(WrongUse, match=r"a may not execute in .*; its team lets it vote"):
            await moot.run("a", "step 1", errand=Errand(work, plan="plan_1", step="s1"))

    assert not at.model.heard
    assert len([e async for e in at.journal.read(Query(types=("work_session.refused",)))]) == 1
