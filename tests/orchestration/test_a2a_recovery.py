"""Messages over crashes and cancellations: nothing is read twice, and every message has one answer."""

import asyncio
from collections import Counter

import pytest

from folkmoot.engine.replay import replay_run
from tests.orchestration.messages import ANN, calls, have, write
from tests.scenes import SLOW, messages


async def test_messages_cut_after_any_event_continue_to_the_same_end(tmp_path):
    """E-57, DESIGN 4: however often a result arrives, it is announced once."""
    at, _ = messages(tmp_path)
    whole = await at.run_cut_anywhere("desk.ai")
    assert whole.report == "done"
    announced = Counter(event.target_session_key for event in whole.events("a2a.response"))
    assert len(announced) == 14
    assert {*announced.values()} == {1}


@pytest.mark.parametrize("call", [write("bob"), have("bob")])
async def test_a_cancelled_run_leaves_no_message_without_its_one_response(desk, call):
    """5.1: a blocked outcome if there is no reply; and it happens again from the journal."""
    at = desk({"ann": ANN, "bob": ""}, {"ann": [calls(call), "done"], "bob": [SLOW]})
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("ann", "hi"))
        await at.clock.advance(0.1)
        await moot.cancel("run-1", "enough")
        played = await at.played(await running)

    [response] = played.events("a2a.response")
    assert (response.outcome, response.error) == ("blocked", "the run was cancelled")
    assert len(played.events("a2a.complete")) == 1
    again = await replay_run(at.journal, "run-1")
    assert (again.equal, again.divergence) == (True, "")


async def test_a_receiver_that_waits_for_a_person_parks_the_run_and_answers_when_it_was_told(desk):
    """One wait, one answer."""
    ask = {"tool": "ask_user", "arguments": {"question": "how many?"}}
    at = desk(
        {"ann": ANN, "bob": "tools: [ask_user]"},
        {"ann": [calls(write("bob")), "done"], "bob": [calls(ask), "5"]},
    )
    async with at.open() as moot:
        assert (await moot.run("ann", "hi")).status == "waiting"
        [item] = await moot.inbox()
        await moot.reply(item.answer("five"))
        played = await at.played(await moot.resume("run-1"))

    assert played.report == "done"
    answered = next(draft for draft in played.drafts if draft.event.type == "question.answered")
    assert answered.conversation_id == played.events("a2a.send")[0].conversation_id
    assert [event.outcome for event in played.events("a2a.response")] == ["replied"]
