"""What was put before someone, and what they said, survives the end of the process at any moment."""

import asyncio
import re

import pytest

from folkmoot import MemoryJournal, WrongUse
from folkmoot.domain.duration import seconds_between
from folkmoot.engine.local import encode_graph
from folkmoot.ports import NewRun
from tests.fakes import fake

FILES = {"desk": "agents: [clerk.ai]\ntools: [ask_user]", "clerk": "tools: [pay, look]"}
CLERK = {"tool": "agent__clerk", "arguments": {"prompt": "pay", "reason": "r"}}
ASK = {"tool": "ask_user", "arguments": {"question": "How much?"}}
PAY = [{"tool": "pay", "arguments": {"to": name}} for name in ("ann", "bob")]
SCRIPT = {
    "desk": [{"calls": [ASK, CLERK]}, "done"],
    "clerk": [{"calls": [PAY[0], {"tool": "look"}, PAY[1]]}, "ok"],
}
SEND = {"desk": [{"calls": [{"tool": "send", "arguments": {"to": "x"}}]}, "ok"]}
pay = fake("pay(to)", "paid {to}", access="write", asks="high")
look = fake("look", "seen")


async def decide(item):
    if item.kind == "question":
        return item.answer("5")
    return item.deny("not bob") if item.arguments["to"] == "bob" else item.approve()


async def test_a_run_with_questions_and_approvals_cut_after_any_event_ends_the_same(desk):
    """DESIGN 4, B-34, U-7: nobody is asked twice, nothing that was denied is made."""
    at = desk(FILES, SCRIPT, tools=[pay, look])
    whole = await at.run_cut_anywhere("desk", in_order=False, answer=decide)

    assert whole.report == "done"
    assert len(whole.drafts) > 25


@pytest.fixture
async def doubtful(desk):
    """A run whose process died in the middle of a `once` call, and which therefore waits."""
    send = fake("send(to)", "sent to {to}", effect="once", access="write")
    at = desk({"desk": "tools: [send]"}, SEND, tools=[send])
    whole = await at.run("desk")
    cut = whole.types.index("tool.started") + 1
    again = desk({"desk": "tools: [send]"}, SEND, tools=[send])
    played = await again.continued(whole.drafts[:cut])
    assert (played.result.status, send.calls) == ("waiting", ["x"])
    return again, send


async def settled(at, decision, text=""):
    async with at.open() as moot:
        (item,) = [item for item in await moot.inbox() if item.is_open]
        assert (item.kind, item.tool, item.arguments) == ("in_doubt", "send", {"to": "x"})
        assert item.id.startswith("doubt_")
        if decision == "retry":
            await at.clock.advance(seconds_between(at.clock.now(), item.retry_from))
        await moot.reply(item.settle(decision, text, "ann"))
    return await at.resumed()


@pytest.mark.parametrize(
    ("decision", "text", "read", "sent"),
    [
        ("done", "receipt 4711", "receipt 4711", ["x"]),
        ("done", "", "done", ["x"]),
        ("fail", "the line was cut", "(tool failed: the line was cut)", ["x"]),
        ("fail", "", "(tool failed: it failed, as a person said)", ["x"]),
        ("retry", "", "sent to x", ["x", "x"]),
    ],
)
async def test_a_call_in_doubt_is_settled_by_a_persons_word(doubtful, decision, text, read, sent):
    """C3, DESIGN 8: done, retry, fail."""
    at, send = doubtful
    played = await settled(at, decision, text)

    assert played.result.success
    assert at.model.heard[-1].messages[-1].text == read
    assert send.calls == sent
    (event,) = played.events("tool.settled")
    assert (event.decision, event.by) == (decision, "ann")


async def test_a_call_in_doubt_cannot_be_made_again_before_its_former_process_must_be_through(doubtful):
    """K-7: lease, tool timeout and 5 s; the time is said, and the other words are free."""
    at, send = doubtful
    async with at.open() as moot:
        (item,) = await moot.inbox()
        assert seconds_between(item.at, item.retry_from) == 30 + 300 + 5
        await at.clock.advance(334.9 - seconds_between(item.at, at.clock.now()))
        with pytest.raises(
            WrongUse, match=f"{item.id} can be made again from {re.escape(item.retry_from)} on"
        ):
            await moot.reply(item.settle("retry"))
        await at.clock.advance(0.1)
        await moot.reply(item.settle("retry"))

    assert send.calls == ["x"]


async def test_who_is_there_and_wants_a_call_made_again_says_so_once(doubtful):
    """K-7: it is made as soon as that is allowed."""
    at, send = doubtful
    async with at.open() as moot:

        async def answer(item):
            return item.settle("retry")

        resuming = asyncio.ensure_future(moot.resume("run-1", answer=answer))
        await at.clock.advance(300)
        assert send.calls == ["x"]
        await at.clock.advance(40)

        assert (await resuming).success
    assert send.calls == ["x", "x"]


async def test_a_call_that_was_made_again_and_cut_off_again_is_in_doubt_again(doubtful):
    """C3: one word allows one repetition."""
    at, send = doubtful
    played = await settled(at, "retry")
    cut = len(played.types) - played.types[::-1].index("tool.started")
    again = await at.continued(played.drafts[:cut])

    assert again.result.status == "waiting"
    assert again.types[-2:] == ["tool.in_doubt", "run.parked"]
    assert send.calls == ["x", "x"]


async def test_a_journal_from_before_the_inbox_names_a_call_in_doubt_by_its_key(doubtful):
    """C4: old events have no id."""
    at, _ = doubtful
    async with at.open() as moot:
        played = await at.played(await moot.result("run-1"))
    old = [
        type(draft)(draft.ts, type(draft.event)(1, 1, "send"), draft.session_id, draft.span, draft.agent_id)
        if draft.event.type == "tool.in_doubt"
        else draft
        for draft in played.drafts
    ]
    at.journal = MemoryJournal(at.clock.monotonic)
    async with at.open() as moot:
        at.journal.keep(encode_graph(moot.graph))
        await at.journal.append("run-1", NewRun("host/0/0/gone", 0.0), old[:-1])
        result = await moot.resume("run-1")
        (item,) = await moot.inbox()
        await moot.reply(item.settle("done"))

        assert result.waiting == [item.id] == ["run-1/0/turn:1/call:1"]
        assert (await moot.resume("run-1")).success


async def test_a_run_that_is_taken_up_while_somebody_looks_is_never_told_as_still_running(desk, monkeypatch):
    """U-7: whoever follows a run hears that it waits or how it ended, also if another goes on with it just then."""
    over = asyncio.Event()
    hold = fake("hold", "held", does=over.wait)
    script = {"desk": [{"calls": [ASK]}, {"calls": [{"tool": "hold"}]}, "done"]}
    at = desk({"desk": "tools: [ask_user, hold]"}, script, tools=[hold])
    async with at.open() as moot:
        run = (await moot.run("desk.ai", "Pay.")).run_id
        read, others = moot.events, []

        async def with_another(run_id, **how):
            for entry in [entry async for entry in read(run_id, **how)]:
                yield entry
            [item] = await moot.inbox(run)
            await moot.reply(item.answer("5"))
            others.append(asyncio.create_task(moot.resume(run)))
            await hold.reached.wait()

        monkeypatch.setattr(moot, "events", with_another)
        assert (await moot.followed(run)).status == "waiting"
        over.set()
        assert (await others[0]).status == "completed"
