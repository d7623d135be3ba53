"""Kept children are listed and let go one by one, whoever holds their run."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from folkmoot import MemoryJournal, WrongUse
from folkmoot.engine.replayer import _is_by_user
from tests.fakes import fake
from tests.orchestration.test_clarify import CALL, FILES, Ids, ask, called, refusal, results

TWO = {"calls": CALL["calls"] * 2}
SLOWLY = {"delay": "10s", "text": "thinking", "calls": [{"tool": "agent__nobody"}]}


@pytest.fixture
async def clerks(desk):
    """The ids of two clerks whom the desk calls in its first turn."""
    ids = Ids(await desk(FILES, {"desk": [TWO, "ok"], "clerk": ["3"]}).run("desk.ai"))
    return [ids("clerk", 0), ids("clerk", 1)]


@asynccontextmanager
async def thinking(at):
    """The desk has two kept clerks and thinks for ten seconds."""
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("desk", "hello"))
        await at.clock.advance(1)
        yield moot, running


async def test_live_children_are_listed_with_what_is_left_of_their_turns(desk, clerks):
    """A-113, A-102: nobody is live after the run."""
    asks = {"calls": [ask(clerks[0]), ask(clerks[0])]}
    at = desk(FILES, {"desk": [TWO, asks, SLOWLY, "ok"], "clerk": ["3", "A", "B"]})
    async with thinking(at) as (moot, running):
        live = [
            (c.id, c.agent_id, c.parent_id, c.turns_remaining, c.clarifications)
            for c in await moot.live("run-1")
        ]
        await at.clock.advance(20)
        await running
        after = await moot.live("run-1")

    assert live == [(clerks[0], "clerk", "run-1", 7, 2), (clerks[1], "clerk", "run-1", 9, 0)]
    assert after == []


async def test_a_destroyed_child_leaves_the_enum_and_asking_it_is_an_error(desk, clerks):
    """A-113: the other one stays."""
    gone, stays = clerks
    asks = {"calls": [ask(gone), ask(stays)]}
    at = desk(FILES, {"desk": [TWO, SLOWLY, asks, "ok"], "clerk": ["3", "A"]})
    async with thinking(at) as (moot, running):
        await moot.destroy(gone, "wrong books")
        assert [child.id for child in await moot.live("run-1")] == [stays]
        await at.clock.advance(20)
        played = await at.played(await running)

    offered = {spec.name: spec for spec in played.model.heard_from("desk")[2].tools}
    assert offered["agent__ask_clarification"].parameters["properties"]["child_id"]["enum"] == [stays]
    refused, told = results(played)[-2:]
    assert refusal(refused)["code"] == "child_destroyed"
    assert '"content":"A"' in told
    assert played.events("session.destroyed")[0].reason == "wrong books"


async def test_a_reason_of_a_person_may_read_like_one_of_the_run_and_is_replayed(desk, clerks):
    """A-113, C4: who let a session go is recorded, and does not follow from how the reason ends."""
    at = desk(FILES, {"desk": [TWO, SLOWLY, "ok"], "clerk": ["3"]})
    async with thinking(at) as (moot, running):
        await moot.destroy(clerks[0], "the clerk has ended")
        await at.clock.advance(20)
        played = await at.played(await running)
        again = await moot.replay("run-1")

    destroyed = played.events("session.destroyed")
    assert [event.by for event in destroyed] == ["user", "run"]
    assert [_is_by_user(event) for event in destroyed] == [True, False]
    assert again.divergence == ""


async def test_a_destroy_left_in_the_inbox_reaches_the_owner(desk, clerks):
    """A-113: from another process."""
    at = desk(FILES, {"desk": [TWO, SLOWLY, "ok"], "clerk": ["3"]})
    async with thinking(at) as (moot, running), at.open() as theirs:
        asked = asyncio.ensure_future(theirs.destroy(clerks[0], "not needed"))
        await at.clock.advance(2)
        await asked
        assert [child.id for child in await moot.live("run-1")] == [clerks[1]]
        await at.clock.advance(20)
        played = await at.played(await running)

    assert played.result.success
    assert played.events("session.destroyed")[0].reason == "not needed"


async def test_destroying_takes_along_all_that_a_child_kept(desk):
    """A-102, A-113."""
    files = {"desk": "agents: [lead.ai]", "lead": "chat: true\nagents: [clerk.ai]", "clerk": "chat: true"}
    at = desk(files, {"desk": [called("lead"), SLOWLY, "ok"], "lead": [CALL, "L"], "clerk": ["3"]})
    async with thinking(at) as (moot, running):
        clerk, lead = [child.id for child in await moot.live("run-1")]
        await moot.destroy(lead)
        assert await moot.live("run-1") == []
        await at.clock.advance(20)
        played = await at.played(await running)

    assert [event.session for event in played.events("session.destroyed")] == [clerk, lead]


async def test_a_child_destroyed_while_it_answers_gives_that_answer_and_no_other(desk, clerks):
    """A-113: and whom it called meanwhile goes with it."""
    files = {"desk": "agents: [clerk.ai]", "clerk": "chat: true\nagents: [boy.ai]", "boy": "chat: true"}
    slow = {"delay": "10s", **called("boy")}
    asks = {"calls": [ask(clerks[0])]}
    at = desk(files, {"desk": [TWO, asks, asks, "ok"], "clerk": ["3", slow, "A"], "boy": ["b"]})
    async with thinking(at) as (moot, running):
        await moot.destroy(clerks[0])
        await at.clock.advance(20)
        played = await at.played(await running)

    told, refused = results(played)[-2:]
    assert '"content":"A"' in told
    assert refusal(refused)["code"] == "child_destroyed"
    assert [draft.agent_id for draft in played.drafts if draft.event.type == "session.destroyed"] == [
        "clerk",
        "boy",
        "clerk",
    ]


async def test_what_is_not_kept_cannot_be_destroyed(desk, clerks):
    at = desk(FILES, {"desk": [TWO, SLOWLY, "ok"], "clerk": ["3"]})
    async with thinking(at) as (moot, running):
        with pytest.raises(WrongUse, match="there is no run 'run-2'"):
            await moot.destroy("run-2:sub_clerk_0")
        with pytest.raises(WrongUse, match="there is no kept session 'run-1'"):
            await moot.destroy("run-1")
        await at.clock.advance(20)
        await running
        with pytest.raises(WrongUse, match="there is no kept session"):
            await moot.destroy(clerks[0])


async def test_a_child_of_a_run_that_nobody_holds_is_destroyed_and_the_run_continued_without_it(desk, clerks):
    """A-113, DESIGN 4."""
    script = {"desk": [TWO, {"calls": [ask(clerks[0])]}, "ok"], "clerk": ["3", "A"]}
    whole = await desk(FILES, script).run("desk.ai")
    cut = max(n for n, type in enumerate(whole.types) if type == "session.frozen") + 3
    at = desk(FILES, script)
    journal = MemoryJournal(at.clock.monotonic)

    async def destroyed_first(moot):
        await moot.destroy(clerks[0])
        assert (await moot.result("run-1")).status == "interrupted"

    played = await at.continued(whole.drafts[:cut], journal=journal, before=destroyed_first)

    assert refusal(results(played)[-1])["code"] == "child_destroyed"
    assert len(played.model.heard_from("clerk")) == 0


async def test_a_question_that_was_passed_on_is_answered_although_the_child_is_destroyed_before_the_run_goes_on(
    desk, clerks
):
    """A-113, DESIGN 4: what is recorded is not taken back."""
    script = {"desk": [TWO, {"calls": [ask(clerks[0])]}, "ok"], "clerk": ["3", "A"]}
    whole = await desk(FILES, script).run("desk.ai")
    for type in ("clarification.asked", "clarification.answered"):
        at = desk(FILES, script)
        cut = whole.types.index(type) + 1
        played = await at.continued(whole.drafts[:cut], before=lambda moot: moot.destroy(clerks[0]))
        assert results(played)[-1] == results(whole)[-1]


async def test_a_run_that_waits_goes_on_waiting_when_a_child_is_destroyed(desk):
    """A-113, O-22."""
    send = fake("send(to)", "sent", effect="once", access="write")
    files = {**FILES, "desk": "agents: [clerk.ai]\ntools: [send]"}
    script = {"desk": [CALL, {"calls": [{"tool": "send", "arguments": {"to": "x"}}]}, "ok"], "clerk": ["3"]}
    whole = await desk(files, script, tools=[send]).run("desk.ai")
    cut = len(whole.types) - whole.types[::-1].index("tool.started")
    at = desk(files, script, tools=[send])
    journal = MemoryJournal(at.clock.monotonic)
    parked = await at.continued(whole.drafts[:cut], journal=journal)
    assert parked.result.status == "waiting"

    async with at.open() as moot:
        await moot.destroy(Ids(whole)("clerk"))
        assert await moot.live("run-1") == []
        after = await moot.result("run-1")
    assert (after.status, after.waiting) == ("waiting", parked.result.waiting)
