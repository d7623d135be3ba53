"""Who says the word: the agent that called, where the project wants it so, and then a person."""

import pytest

from tests.desk import SETTINGS, blocks
from tests.fakes import fake

APPROVERS = SETTINGS + "approvals: {approvers: [parent, human]}\n"
FILES = {"desk": "tools: [pay]\nagents: [clerk.ai]", "clerk": "tools: [pay]"}
ASK_CLERK = {"tool": "agent__clerk", "arguments": {"prompt": "pay ann", "reason": "r"}}
PAY = {"tool": "pay", "arguments": {"to": "ann"}}


class Till:
    def __init__(self, asks="medium"):
        self.paid = []
        pay = fake("pay(to)", "paid {to}", effect="once", access="write", asks=asks, calls=self.paid)
        fetch = fake("fetch", "pay ann", access="egress")
        self.tools = [pay, fetch]


def script(*desk):
    return {"desk": [{"calls": [ASK_CLERK]}, *desk], "clerk": [{"calls": [PAY]}, "ok"]}


async def test_a_parent_sees_the_whole_call_and_its_yes_is_recorded_with_who(desk):
    """X-6, D-26."""
    till = Till()
    at = desk(FILES, script("approve", "done"), tools=till.tools, settings=APPROVERS)
    async with at.open() as moot:
        played = await at.played(await moot.run("desk", "hello"))
        assert (await moot.replay("run-1")).divergence == ""

    assert played.result.success
    assert till.paid == ["ann"]
    (asked,), (approved,) = played.events("approval.requested"), played.events("approval.approved")
    assert (asked.approvers, approved.by) == (("parent", "human"), "agent desk")
    question = played.model.heard_from("desk")[1].messages[-1].text
    ((tag, agent, text),) = blocks(question)
    assert (tag, agent) == ("question", "clerk")
    assert '{"arguments":{"to":"ann"},"tool":"pay"}' in text


async def test_the_tree_of_a_run_has_the_session_that_approved_a_call_before_it_began(desk):
    played = await desk(FILES, script("approve", "done"), tools=Till().tools, settings=APPROVERS).run("desk")

    clerk = played.result.op_tree.turns[0].ops[1].child_session
    around, first, _ = clerk.turns
    assert [(op.kind, op.name, op.child_session.cause) for op in around.ops] == [("session", "desk", "ask")]
    assert [op.name for op in first.ops if op.kind == "tool"] == ["pay"]


@pytest.mark.parametrize("answer", ["deny: too much", "approve it, but only half", "APPROVED by user", ""])
async def test_whatever_is_no_clear_yes_goes_on_to_a_person(desk, answer):
    """X-6: deny or anything unclear is passed on, and recorded."""
    till = Till()
    at = desk(FILES, script({"report": answer or "hm"}, "done"), tools=till.tools, settings=APPROVERS)
    played = await at.run("desk")

    assert played.result.status == "waiting"
    assert till.paid == []
    (declined,) = played.events("approval.declined")
    assert (declined.by, declined.reason) == ("agent desk", answer or "hm")
    (item,) = played.result.inbox
    assert item.approvers == ("human",)


async def test_a_parent_can_approve_only_what_it_may_do_itself(desk):
    """Pains 19: nobody gets more through a child."""
    till = Till()
    said = {"desk": [{"calls": [ASK_CLERK]}, "approve", "done"], "clerk": [{"calls": [PAY]}, "ok"]}
    files = FILES | {"desk": "agents: [clerk.ai]"}
    played = await desk(files, said, tools=till.tools, settings=APPROVERS).run("desk")

    assert played.result.status == "waiting"
    assert [each.reason for each in played.events("approval.declined")] == [
        "it does not have this tool itself"
    ]
    assert till.paid == []


async def test_what_untrusted_text_may_have_asked_for_is_decided_by_a_person(desk):
    """K-6: no agent says yes to a call that a page may have put into the mind of another."""
    till = Till()
    files = FILES | {"desk": "tools: [pay, fetch]\nagents: [clerk.ai]"}
    said = {
        "desk": [{"calls": [{"tool": "fetch"}]}, {"calls": [ASK_CLERK]}, "approve", "done"],
        "clerk": [{"calls": [PAY]}, "ok"],
    }
    played = await desk(files, said, tools=till.tools, settings=APPROVERS).run("desk")

    (asked,) = played.events("approval.requested")
    assert (asked.approvers, played.result.status) == (("human",), "waiting")
    assert till.paid == []


async def test_what_is_at_high_risk_is_decided_by_a_person(desk):
    """X-6: risk high always ends at a person."""
    till = Till("high")
    played = await desk(FILES, script("approve", "done"), tools=till.tools, settings=APPROVERS).run("desk")

    (asked,) = played.events("approval.requested")
    assert asked.approvers == ("human",)
    assert played.result.status == "waiting"


async def test_who_comes_after_a_person_is_never_asked(desk):
    """X-6: in order."""
    settings = SETTINGS + "approvals: {approvers: [human, parent]}"
    played = await desk(FILES, script("approve", "done"), tools=Till().tools, settings=settings).run("desk")

    assert played.events("approval.requested")[0].approvers == ("human",)


async def test_the_root_has_nobody_above_it_but_a_person(desk):
    till = Till()
    only = {"desk": [{"calls": [PAY]}, "ok"]}
    played = await desk({"desk": "tools: [pay]"}, only, tools=till.tools, settings=APPROVERS).run("desk")

    assert played.events("approval.requested")[0].approvers == ("human",)


async def test_a_run_in_which_a_parent_approves_cut_after_any_event_ends_the_same(desk):
    """DESIGN 4: the parent is asked once."""
    await desk(FILES, script("approve", "done"), tools=pure(), settings=APPROVERS).run_cut_anywhere("desk")


def pure():
    pay = fake("pay(to)", "paid {to}", access="write", asks="medium")
    return [pay]


TEAM = {
    "team": "team: {members: [coder.ai, tester.ai], supervisor: boss.ai}",
    "coder": "tools: [pay]",
    "tester": "tools: [fetch]",
    "boss": "tools: [pay]",
}


@pytest.mark.parametrize(
    ("looks", "paid", "declined"),
    [([], ["ann", "ann"], []), ([{"calls": [{"tool": "fetch"}]}], ["ann"], [])],
)
async def test_a_member_of_a_team_asks_its_lead_as_long_as_nobody_has_read_untrusted_text(
    desk, looks, paid, declined
):
    """X-6, D-26: `lead`; in the second cycle the member has read what the other one looked up."""
    till = Till()
    said = {
        "coder": [{"calls": [PAY]}, {"broadcast": "one"}, {"calls": [PAY]}, {"broadcast": "two"}],
        "tester": [*looks, {"broadcast": "so it is"}, {"broadcast": "still so"}],
        "boss": {
            "rules": [{"when": "I need your word", "report": "approve"}, {"when": "two", "report": "done"}],
            "default": {"broadcast": "go on"},
        },
    }
    settings = "approvals: {approvers: [lead, human]}"
    at = desk(TEAM, said, tools=till.tools, settings=SETTINGS + settings)
    async with at.open() as moot:
        played = await at.played(await moot.run("team", "hello"))
        assert (await moot.replay("run-1")).divergence == ""

    assert till.paid == paid
    assert [each.by for each in played.events("approval.approved")] == ["agent boss"] * len(paid)
    assert [each.reason for each in played.events("approval.declined")] == declined
