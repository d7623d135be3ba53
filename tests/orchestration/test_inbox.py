"""Where a run waits for someone: approvals, questions and calls in doubt, at any depth."""

import asyncio

import pytest

from folkmoot import WrongUse
from folkmoot.domain.inbox import Reply
from folkmoot.domain.message import ToolCall, fingerprint
from tests.desk import SETTINGS
from tests.fakes import fake

PAY = {"tool": "pay", "arguments": {"to": "ann", "amount": "5"}}
ASK = {"tool": "ask_user", "arguments": {"question": "Which colour?"}}
CLERK = {"tool": "agent__clerk", "arguments": {"prompt": "pay", "reason": "r"}}
DEEP = {"desk": "agents: [clerk.ai]", "clerk": "tools: [pay]"}
DEEP_SAID = {"desk": [{"calls": [CLERK]}, "done"], "clerk": [{"calls": [PAY]}, "paid it"]}
ONE, SAID = {"desk": "tools: [pay]"}, {"desk": [{"calls": [PAY]}, "ok"]}
DENY = SETTINGS + "approvals: {unattended: deny}\n"


@pytest.fixture
def paid():
    """Whom the till has really paid."""
    return []


@pytest.fixture
def till(desk, paid):
    """A desk whose tool asks first, and ends when so many are under way."""

    def made(files=ONE, script=SAID, *, together=1, **more):
        how = {"effect": "once", "access": "write", "asks": "medium", "does": asyncio.Barrier(together).wait}
        return desk(
            files, script, tools=[fake("pay(to, amount)", "paid {amount} to {to}", calls=paid, **how)], **more
        )

    return made


async def approve(item):
    return item.approve("ann")


async def parked(at):
    async with at.open() as moot:
        result = await moot.run("desk", "hello")
    assert result.status == "waiting"
    return result


async def open_items(at):
    async with at.open() as moot:
        return [item for item in await moot.inbox() if item.is_open]


async def reply(at, *replies):
    """As another process would: through another opening of the same journal."""
    async with at.open() as moot:
        for one in replies:
            await moot.reply(one)


async def test_a_call_that_asks_is_not_made_before_somebody_approves(till, paid):
    """B-31, O-22, X-6: nobody is there, so the run parks and says what waits."""
    at = till()
    result = await parked(at)
    played = await at.played(result)

    assert paid == []
    requested = played.events("approval.requested")[0]
    assert (requested.risk, requested.tool, requested.arguments) == ("medium", "pay", PAY["arguments"])
    assert requested.hash == fingerprint(ToolCall("", "pay", {"amount": "5", "to": "ann"}))
    assert requested.id.startswith("ap_")
    assert played.types[-2:] == ["approval.requested", "run.parked"]
    assert result.waiting == [requested.id]
    assert result.to_json()["waiting"] == [requested.id]


async def test_a_parked_call_is_made_once_after_approval_and_the_model_is_not_asked_again(till, paid):
    """B-31, U-7, pains 5: at depth, answered from another opening of the journal, after the process has gone."""
    at = till(DEEP, DEEP_SAID)
    await parked(at)
    asked_before = len(at.model.heard)
    (item,) = await open_items(at)
    await reply(at, item.approve("ann"))
    assert paid == []
    played = await at.resumed()

    assert (item.agent, item.span, item.kind) == ("clerk", "0/turn:1/call:1", "approval")
    assert paid == ["ann"]
    assert played.report == "done"
    assert asked_before == 2
    assert [request.agent for request in at.model.heard[2:]] == ["clerk", "desk"]
    assert played.model.heard_from("clerk")[1].messages[-1].text == "paid 5 to ann"
    assert played.events("tool.started")[-1].decision == f"approved: {item.id} by ann"


async def test_two_approvals_of_one_turn_are_shown_together_and_then_run_together(till, paid):
    """B-34, X-B4: neither call ends before both have begun."""
    other = {"tool": "pay", "arguments": {"to": "bob", "amount": "7"}}
    at = till(script={"desk": [{"calls": [PAY, other]}, "ok"]}, together=2)
    result = await parked(at)
    first, second = await open_items(at)
    await reply(at, second.approve(), first.approve())
    played = await at.resumed()

    assert result.waiting == [first.id, second.id]
    assert sorted(paid) == ["ann", "bob"]
    results = [message.text for message in played.model.heard[1].messages if message.role == "tool"]
    assert results == ["paid 5 to ann", "paid 7 to bob"]


async def test_calls_that_need_no_word_are_not_held_up_by_one_that_does(till, paid):
    look = fake("look", "seen")
    at = till({"desk": "tools: [pay, look]"}, {"desk": [{"calls": [PAY, {"tool": "look"}]}, "ok"]})
    at.tools.append(look)
    await parked(at)

    assert (len(look.calls), paid) == (1, [])


async def test_a_denial_is_a_result_with_its_reason_and_is_not_tried_again(till, paid):
    """U-7: the model reads why."""
    at = till(script={"desk": [{"calls": [PAY]}, "as you like"]})
    (item,) = (await parked(at)).inbox
    await reply(at, item.deny("too much money", "bob"))
    played = await at.resumed()

    assert paid == []
    assert played.model.heard[1].messages[-1].text == "(tool failed: approval_denied: too much money)"
    assert played.events("approval.denied")[0].by == "bob"
    assert played.report == "as you like"


async def test_unattended_deny_refuses_at_once_with_a_timeout(till):
    """X-6, O-22."""
    played = await till(settings=DENY).run("desk")

    assert played.result.success
    assert played.model.heard[1].messages[-1].text == "(tool failed: approval_timeout)"
    assert played.events("approval.expired")[0].reason == "approval_timeout"


async def test_whoever_is_there_is_asked_and_the_run_does_not_park(till, paid):
    """O-22."""
    at = till(DEEP, DEEP_SAID, settings=DENY)
    played = await at.run("desk", "hello", answer=approve)

    assert played.report == "done"
    assert paid == ["ann"]
    assert "run.parked" not in played.types


async def test_one_thing_is_asked_at_a_time(till):
    asked, at_once = [], []

    async def slowly(item):
        asked.append(item.id)
        at_once.append(len(asked))
        for _ in range(5):
            await asyncio.sleep(0)
        assert asked[-1] == item.id
        return item.approve()

    at = till(script={"desk": [{"calls": [PAY, PAY]}, "ok"]}, together=2)
    async with at.open() as moot:
        assert (await moot.run("desk", "hello", answer=slowly)).success

    assert at_once == [1, 2]


async def test_somebody_who_has_nothing_to_say_yet_leaves_the_run_parked(till):
    async def later(item):
        return None

    at = till()
    async with at.open() as moot:
        result = await moot.run("desk", "hello", answer=later)

    assert result.status == "waiting"


async def test_whoever_is_asked_is_left_alone_when_somebody_else_answered(till, paid):
    """First answer wins, wherever it comes from."""
    left_alone = []

    async def thinking(item):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            left_alone.append(item.id)
            raise

    at = till()
    async with at.open() as mine:
        running = asyncio.ensure_future(mine.run("desk", "hello", answer=thinking))
        await at.clock.advance(10)
        (item,) = await open_items(at)
        await reply(at, item.approve("bob"))
        await at.clock.advance(1)

        assert (await running).success
    assert left_alone == [item.id]
    assert paid == ["ann"]


async def test_of_two_who_answer_at_the_same_moment_the_second_is_told(till):
    at = till()
    (item,) = (await parked(at)).inbox
    post = at.journal.post

    async def post_second(run, kind, body, **more):
        await post(run, kind, body.replace("ann", "bob"), **more)
        await post(run, kind, body, **more)

    at.journal.post = post_second
    with pytest.raises(WrongUse, match="decided already: approve by bob"):
        await reply(at, item.approve("ann"))
    played = await at.resumed()

    assert [event.by for event in played.events("approval.approved")] == ["bob"]


async def test_an_answerer_that_breaks_fails_the_run_and_says_why(till):
    async def broken(item):
        raise RuntimeError("the bell is broken")

    at = till()
    async with at.open() as moot:
        result = await moot.run("desk", "hello", answer=broken)

    assert (result.status, result.error) == ("failed", "RuntimeError: the bell is broken")


async def test_the_first_answer_wins_and_a_second_changes_nothing(till):
    """DESIGN 4, pains 5."""
    at = till()
    (item,) = (await parked(at)).inbox
    await reply(at, item.deny("no", "bob"))

    with pytest.raises(WrongUse, match="decided already: deny by bob"):
        await reply(at, item.approve())
    played = await at.resumed()
    with pytest.raises(WrongUse, match="decided already: denied by bob"):
        await reply(at, item.approve())
    assert "approval.approved" not in played.types


async def test_an_unknown_item_a_wrong_word_and_another_call_are_refused(till):
    """O-17: a word is bound to the hash of the call that was shown."""
    at = till()
    (item,) = (await parked(at)).inbox

    with pytest.raises(WrongUse, match="nothing waits under the id 'ap_nope'"):
        await reply(at, Reply("ap_nope", "approve"))
    with pytest.raises(WrongUse, match="takes approve or deny, not answer"):
        await reply(at, item.answer("yes"))
    with pytest.raises(WrongUse, match="another call than the one that was shown"):
        await reply(at, Reply(item.id, "approve", hash="0" * 64))
    assert [one.id for one in await open_items(at)] == [item.id]


async def test_an_answer_from_another_process_wakes_the_branch_while_others_still_work(till, paid):
    """DESIGN 4: while another branch of the run works, the one that waits only waits, and nothing parks."""
    files = {"desk": "agents: [clerk.ai, slow.ai]", "clerk": "tools: [pay]", "slow": ""}
    slow = {"tool": "agent__slow", "arguments": {"prompt": "p", "reason": "r"}}
    script = {
        "desk": [{"calls": [CLERK, slow]}, "done"],
        "clerk": [{"calls": [PAY]}, "paid it"],
        "slow": [{"delay": "30s", "text": "late"}],
    }
    at = till(files, script)
    async with at.open() as mine:
        running = asyncio.ensure_future(mine.run("desk", "hello"))
        await at.clock.advance(10)
        assert not running.done()
        (item,) = await open_items(at)
        await reply(at, item.approve())
        await at.clock.advance(1)
        assert paid == ["ann"]
        assert len(at.model.heard_from("clerk")) == 2
        assert not running.done()
        await at.clock.advance(30)
        played = await at.played(await running)

    assert played.report == "done"
    assert "run.parked" not in played.types


async def test_a_run_that_was_told_to_wait_stays_until_somebody_answers(till, paid):
    """O-22: `--wait`."""
    at = till(settings=DENY)
    async with at.open() as mine:
        running = asyncio.ensure_future(mine.run("desk", "hello", wait=True))
        await at.clock.advance(60)
        assert not running.done()
        (item,) = await open_items(at)
        await reply(at, item.approve())
        await at.clock.advance(1)

        assert (await running).success
    assert paid == ["ann"]


async def test_a_run_held_here_is_told_at_once(till):
    at = till()
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("desk", "hello", wait=True))
        await at.clock.advance(0)
        (item,) = await moot.inbox("run-1")
        await moot.reply(item.approve())

        assert (await running).success


async def test_an_answer_left_while_the_run_was_parking_is_not_lost(till, paid):
    """Whoever lets go of a run looks once more."""
    at = till()
    release = at.journal.release

    async def release_late(claim, **more):
        (item,) = await open_items(at)
        await reply(at, item.approve())
        await release(claim, **more)

    at.journal.release = release_late
    async with at.open() as moot:
        result = await moot.run("desk", "hello")

    assert result.success
    assert paid == ["ann"]


async def test_an_answer_that_comes_while_the_end_is_being_written_is_not_lost(till, paid):
    at = till()
    append = at.journal.append

    def append_late(stream, expected, drafts):
        written = append(stream, expected, drafts)
        if drafts[-1].event.type == "run.parked":
            inbox = moot._engine.activation("run-1").run.inbox
            inbox.take(inbox.items[drafts[-1].event.waiting[0]].approve())
        return written

    at.journal.append = append_late
    async with at.open() as moot:
        result = await moot.run("desk", "hello")

    assert result.success
    assert paid == ["ann"]


async def test_a_run_that_goes_on_after_parking_is_no_longer_shown_as_waiting(till):
    at = till(script={"desk": [{"calls": [PAY]}, {"delay": "30s", "text": "ok"}]})
    (item,) = (await parked(at)).inbox
    await reply(at, item.approve())
    async with at.open() as moot:
        assert (await moot.runs())[0].status == "waiting"
        running = asyncio.ensure_future(moot.resume("run-1"))
        await at.clock.advance(1)
        assert (await moot.runs())[0].status == "running"
        running.cancel()


async def test_a_cancel_left_for_a_run_that_parked_ends_it_when_it_is_taken_up(till):
    """C5."""
    at = till()
    await parked(at)
    await at.journal.post("run-1", "cancel", "enough")
    played = await at.resumed()

    assert (played.result.status, played.result.error) == ("cancelled", "enough")


async def test_what_is_no_reply_is_dropped(till):
    at = till()
    await parked(at)
    await at.journal.post("run-1", "answer", "not JSON")
    played = await at.resumed()

    assert played.result.status == "waiting"
    assert await at.journal.posts(["run-1"]) == []


async def test_all_that_is_open_is_listed_when_the_run_parks(till):
    """One branch asks, another needs a word."""
    files = {"desk": "agents: [clerk.ai]\ntools: [ask_user]", "clerk": "tools: [pay]"}
    script = {"desk": [{"calls": [CLERK, ASK]}, "done"], "clerk": [{"calls": [PAY]}, "ok"]}
    at = till(files, script)
    result = await parked(at)
    items = await open_items(at)

    assert {item.kind for item in items} == {"question", "approval"}
    assert result.waiting == [item.id for item in items]


async def test_an_agent_asks_a_person_and_reads_the_answer(desk):
    """Issue 3, O-41: at any depth, within its turns."""
    files = {"desk": "agents: [clerk.ai]", "clerk": "tools: [ask_user]"}
    script = {"desk": [{"calls": [CLERK]}, "done"], "clerk": [{"calls": [ASK]}, "blue it is"]}
    at = desk(files, script)
    (item,) = (await parked(at)).inbox
    await reply(at, item.answer("the blue one"))
    played = await at.resumed()

    assert item.question == "Which colour?"
    assert played.events("question.asked")[0].id.startswith("q_")
    assert [event.text for event in played.events("question.answered")] == ["the blue one"]
    assert played.model.heard_from("clerk")[1].messages[-1].text == "the blue one"
    assert len(played.events("question.asked")) == 1
    assert len(played.model.heard_from("clerk")) == 2


async def test_a_question_that_is_none_and_one_that_nobody_can_answer_fail(desk):
    wrong = {"tool": "ask_user", "arguments": {"question": " "}}
    script = {"desk": [{"calls": [wrong, ASK]}, "ok"]}
    played = await desk({"desk": "tools: [ask_user]"}, script, settings=DENY).run("desk")

    results = [message.text for message in played.model.heard[1].messages if message.role == "tool"]
    assert results[0] == "(tool failed: ask_user takes one argument, `question`, a text)"
    assert results[1] == "(tool failed: approval_timeout: nobody is there to answer)"


async def test_waiting_for_a_person_uses_up_no_wall_time(till):
    at = till(settings=SETTINGS + "budget: {wall: 10m}\n")
    (item,) = (await parked(at)).inbox
    await at.clock.advance(3 * 86_400)
    await reply(at, item.approve())

    assert (await at.resumed()).report == "ok"


async def test_cancelling_a_parked_run_closes_what_it_waited_for(till):
    at = till()
    await parked(at)
    async with at.open() as moot:
        await moot.cancel("run-1")

    assert await open_items(at) == []


async def test_a_run_that_is_resumed_and_finds_nothing_new_records_nothing(desk):
    """O-22: it parks again when it waits for something else."""
    files = {"desk": "tools: [ask_user]"}
    at = desk(files, {"desk": [question("one?"), question("two?"), "ok"]})
    async with at.open() as moot:
        (first,) = (await moot.run("desk", "go")).inbox
        before = await at.played(await moot.resume("run-1"))
        after = await at.played(await moot.resume("run-1"))
        await moot.reply(first.answer("1"))
        played = await at.played(await moot.resume("run-1"))

    assert after.drafts == before.drafts
    assert after.result.status == "waiting"
    assert after.types.count("run.parked") == 1
    assert played.types.count("run.parked") == 2


def question(text):
    return {"calls": [{"tool": "ask_user", "arguments": {"question": text}}]}
