"""An approval is taken back before its call was made."""

import asyncio

import pytest

from folkmoot import WrongUse
from folkmoot.engine.commands import AnswerItem
from folkmoot.views.timeline import timeline
from tests.fakes import fake
from tests.orchestration.test_clarify import results

FILES = {"desk": "tools: [pay, ask_user]"}
PAY = {"tool": "pay", "arguments": {"to": "ann"}}
SCRIPT = {"desk": [{"calls": [PAY]}, "ok"]}


@pytest.fixture
def paid():
    return []


@pytest.fixture
def till(desk, paid):
    pay = fake("pay(to)", "paid", effect="once", access="write", asks="high", calls=paid)
    return lambda script=SCRIPT: desk(FILES, script, tools=[pay])


async def test_a_call_that_was_approved_and_not_made_is_withdrawn_and_reads_as_denied(till, paid):
    """O-17: the run is parked; the record shows both words."""
    at = till()
    async with at.open() as moot:
        (item,) = (await moot.run("desk", "go")).inbox
        await moot.reply(item.approve(by="ann"))
        assert [each.status for each in await moot.inbox()] == ["approve"]
        await moot.reply(item.revoke("wrong customer", by="bob"))
        assert [(each.status, each.by) for each in await moot.inbox()] == [("revoke", "bob")]
        played = await at.played(await moot.resume("run-1"))
        (decided,) = await moot.inbox()

    assert paid == []
    assert results(played) == ["(tool failed: approval_denied: wrong customer)"]
    assert [type for type in played.types if type.startswith("approval.")] == [
        "approval.requested",
        "approval.approved",
        "approval.revoked",
    ]
    assert (decided.status, decided.by, decided.text) == ("revoked", "bob", "wrong customer")
    assert any("may not make the call after all" in line for line in timeline(played.drafts))


async def test_a_word_for_the_whole_run_that_is_taken_back_holds_for_no_later_call(till, paid):
    """O-17."""
    at = till({"desk": [{"calls": [PAY]}, {"calls": [PAY]}, "ok"]})
    async with at.open() as moot:
        (item,) = (await moot.run("desk", "go")).inbox
        await moot.reply(item.approve("ann", "run"))
        await moot.reply(item.revoke("no"))
        again = await moot.resume("run-1")

    assert (again.status, len(again.inbox), paid) == ("waiting", 1, [])


async def test_an_approval_that_was_recorded_before_its_process_died_can_still_be_taken_back(till, paid):
    """O-17: cut between the word and the call."""
    at = till()
    whole = await at.run("desk", "go", answer=lambda item: approved(item))
    assert paid == ["ann"]
    cut = whole.types.index("approval.approved") + 1

    async def taken_back(moot):
        (item,) = await moot.inbox()
        await moot.reply(item.revoke("no"))

    again = till()
    played = await again.continued(whole.drafts[:cut], before=taken_back)

    assert paid == ["ann"]
    assert results(played) == ["(tool failed: approval_denied: no)"]


async def approved(item):
    return item.approve()


async def test_what_is_made_denied_or_not_approved_cannot_be_taken_back(till, paid):
    """O-17: each says why."""
    question = {"tool": "ask_user", "arguments": {"question": "how?"}}
    at = till({"desk": [{"calls": [PAY, PAY, PAY, question]}, "ok"]})
    async with at.open() as moot:
        first, second, third, asked = (await moot.run("desk", "go")).inbox
        with pytest.raises(WrongUse, match="is not approved, so there is nothing to take back"):
            await moot.reply(first.revoke())
        await moot.reply(first.approve())
        await moot.reply(second.deny())
        await moot.reply(asked.answer("so"))
        await moot.resume("run-1")
        for item, why in (
            (first, "too late: the call of"),
            (second, "an approval, denied"),
            (asked, "answered"),
        ):
            with pytest.raises(WrongUse, match=why):
                await moot.reply(item.revoke())
        await moot.reply(third.approve())
        await moot.reply(third.revoke("once is enough"))
        with pytest.raises(WrongUse, match="an approval, revoke; only what is approved"):
            await moot.reply(third.revoke())
        played = await at.played(await moot.resume("run-1"))

    assert paid == ["ann"]
    assert results(played)[2] == "(tool failed: approval_denied: once is enough)"


async def test_whoever_takes_back_in_another_process_learns_whether_it_was_in_time(till, paid):
    """O-17: it is told when the one that holds the run has read it, and never before."""
    at = till()
    async with at.open() as holding, at.open() as other:
        running = asyncio.ensure_future(holding.run("desk", "go", wait=True))
        await at.clock.advance(1)
        (item,) = await other.inbox()
        await other.reply(item.approve())
        taking_back = asyncio.ensure_future(other.reply(item.revoke("no")))
        await asyncio.sleep(0)
        assert not taking_back.done()
        await at.clock.advance(1)
        played = await at.played(await running)
        late = await asyncio.gather(taking_back, return_exceptions=True)

    assert [isinstance(each, WrongUse) for each in late] == [bool(paid)]
    assert ("approval.revoked" in played.types) is not bool(paid)


async def test_a_call_that_was_made_before_the_revocation_was_read_is_too_late(till, paid):
    """O-17: however it came to that."""
    at = till()
    async with at.open() as moot:
        (item,) = (await moot.run("desk", "go")).inbox
        await moot.reply(item.approve())
        await moot.resume("run-1")

    with pytest.raises(WrongUse, match="too late: the call of"):
        await AnswerItem(item.revoke("no")).is_done(at.journal, item.run)
    assert paid == ["ann"]
