"""A session asks a finished child again."""

import asyncio
import json

import pytest

from folkmoot.views.timeline import timeline
from tests.desk import SETTINGS, blocks

FILES = {"desk": "agents: [clerk.ai]", "clerk": "chat: true"}
CALL = {"calls": [{"tool": "agent__clerk", "arguments": {"prompt": "count", "reason": "r"}}]}
DIVIDER = "\n\n---\n"


def ask(child, question="why 3?"):
    return {"tool": "agent__ask_clarification", "arguments": {"child_id": child, "question": question}}


class Ids:
    """The ids that a run will draw: they are the same each time, so a rehearsal tells them."""

    def __init__(self, played):
        self.all = [draft.session_id for draft in played.drafts if draft.event.type == "session.started"]

    def __call__(self, agent, number=0):
        return [id for id in self.all if f"_{agent}_" in id.rpartition(":")[2]][number]


@pytest.fixture
def clerk(desk):
    """The id of the clerk whom the desk calls in its first turn."""

    async def clerk(files=FILES, **more):
        played = await desk(files, {"desk": [CALL, "ok"], "clerk": ["3"]}, **more).run("desk.ai")
        return Ids(played)("clerk")

    return clerk


def results(played, agent="desk", request=-1):
    """What the tools of the last turn gave."""
    messages = played.model.heard_from(agent)[request].messages
    return [message.text for message in messages if message.role == "tool"]


def answer(text):
    """The structured part and the footer of a clarification."""
    body, footer = text.split(DIVIDER)
    return json.loads(body), footer


def refusal(text):
    return json.loads(text.removeprefix("(tool failed: ").removesuffix(")"))


async def test_success(desk, clerk):
    """A-92, A-93, A-95, A-96, A-99, A-103: the child goes on with its whole conversation."""
    id = await clerk()
    said = {"desk": [CALL, {"calls": [ask(id)]}, "it is 3"], "clerk": ["3", "I counted twice"]}
    played = await desk(FILES, said).run("desk.ai")

    first, second = played.model.heard_from("clerk")
    report, question = second.messages[-2:]
    assert second.messages[:-2] == first.messages
    assert (report.role, report.text) == ("assistant", "3")
    assert (question.role, question.text) == ("user", "## CLARIFICATION REQUEST FROM 0\n\nwhy 3?")
    read, footer = answer(results(played)[-1])
    [clarification] = [draft for draft in played.drafts if draft.event.type == "clarification.answered"]
    assert read == {
        "status": "answered",
        "content": "I counted twice",
        "clarificationId": clarification.session_id,
        "turnsRemaining": 8,
    }
    assert "turns left: 8" in footer
    assert played.report == "it is 3"


async def test_chat_disabled(desk):
    """A-97, A-103, O-26: by agent or by session, also when the tool is not offered at all; nobody is asked."""
    files = {"desk": "agents: [clerk.ai]", "clerk": ""}
    rehearsal = await desk(files, {"desk": [CALL, "ok"], "clerk": ["3"]}).run("desk.ai")
    asks = {"calls": [ask("clerk"), ask(Ids(rehearsal)("clerk"))]}
    played = await desk(files, {"desk": [CALL, asks, "ok"], "clerk": ["3"]}).run("desk.ai")

    assert [refusal(text)["code"] for text in results(played)[1:]] == ["chat_disabled"] * 2
    assert len(played.model.heard_from("clerk")) == 1
    assert [event.code for event in played.events("clarification.refused")] == ["chat_disabled"] * 2


async def test_no_turns(desk, clerk):
    """A-98, A-99, A-103."""
    files = {"desk": "agents: [clerk.ai]", "clerk": "chat: true\nmaxTurns: 1"}
    id = await clerk(files)
    played = await desk(files, {"desk": [CALL, {"calls": [ask(id)]}, "ok"], "clerk": ["3"]}).run("desk.ai")

    assert refusal(results(played)[-1])["code"] == "clarification_no_turns"
    assert len(played.model.heard_from("clerk")) == 1


NESTED = {
    "desk": "agents: [lead.ai]",
    "lead": "agents: [clerk.ai]\nchat: true",
    "clerk": "agents: [boy.ai]\nchat: true",
    "boy": "chat: true",
}
DEEP = SETTINGS + "limits: {callDepth: 4}\n"


def called(agent):
    return {"calls": [{"tool": f"agent__{agent}", "arguments": {"prompt": "p", "reason": "r"}}]}


def nested(ids):
    """Each is asked back by the one above, three levels deep."""
    return {
        "desk": [called("lead"), {"calls": [ask(ids("lead"), "sure?")]}, "so be it"],
        "lead": [called("clerk"), "L", {"calls": [ask(ids("clerk"), "sure?")]}, "L again"],
        "clerk": [called("boy"), "C", {"calls": [ask(ids("boy"), "sure?")]}, "C again"],
        "boy": ["B", "B again"],
    }


async def rehearsed(desk):
    script = {
        name: [called(below), "x"] for name, below in (("desk", "lead"), ("lead", "clerk"), ("clerk", "boy"))
    }
    return Ids(await desk(NESTED, {**script, "boy": ["B"]}, settings=DEEP).run("desk.ai"))


async def test_nested(desk):
    """A-101, A-103, O-20: a child that is asked asks its own child, and that one its own."""
    script = nested(await rehearsed(desk))
    played = await desk(NESTED, script, settings=DEEP).run("desk.ai")

    answers = [answer(results(played, agent)[-1])[0]["content"] for agent in ("clerk", "lead", "desk")]
    assert answers == ["B again", "C again", "L again"]
    spans = [draft.span for draft in played.drafts if draft.event.type == "clarification.asked"]
    lead, clerk, boy = (
        "0/turn:1/call:1",
        "0/turn:1/call:1/turn:1/call:1",
        "0/turn:1/call:1/turn:1/call:1/turn:1/call:1",
    )
    assert spans == [f"{lead}/clarify:2.1", f"{clerk}/clarify:3.1", f"{boy}/clarify:3.1"]
    assert f"FROM {lead}/clarify:2.1\n" in played.model.heard_from("clerk")[2].messages[-1].text


async def test_cleanup_cascade(desk):
    """A-102, A-103: with the parent end all it kept, and all those kept, from the bottom up."""
    played = await desk(NESTED, nested(await rehearsed(desk)), settings=DEEP).run("desk.ai")

    destroyed = [draft.agent_id for draft in played.drafts if draft.event.type == "session.destroyed"]
    assert destroyed == ["boy", "clerk", "lead"]
    assert played.types[-1] == "run.completed"


async def test_a_child_without_chat_takes_what_it_kept_with_it(desk):
    """A-102: its caller cannot ask it, so nobody could ask them."""
    files = {"desk": "agents: [lead.ai]", "lead": "agents: [clerk.ai]", "clerk": "chat: true"}
    played = await desk(files, {"desk": [called("lead"), "ok"], "lead": [CALL, "L"], "clerk": ["3"]}).run(
        "desk.ai"
    )

    [destroyed] = [draft for draft in played.drafts if draft.event.type == "session.destroyed"]
    assert destroyed.agent_id == "clerk"
    assert played.types.index("session.destroyed") < played.types.index(
        "sub_agent.completed", played.types.index("session.destroyed")
    )


async def test_cancelling_destroys_what_is_kept_and_ends_what_is_being_answered(desk, clerk):
    """A-102: abort propagates."""
    id = await clerk()
    said = {"desk": [CALL, {"calls": [ask(id)]}, "x"], "clerk": ["3", {"delay": "1h", "text": "late"}]}
    at = desk(FILES, said)
    async with at.open() as moot:
        running = asyncio.ensure_future(moot.run("desk", "hello"))
        await at.clock.advance(1)
        assert [child.id for child in await moot.live("run-1")] == [id]
        await moot.cancel("run-1")
        played = await at.played(await running)
        assert await moot.live("run-1") == []

    assert played.result.status == "cancelled"
    assert len(played.events("session.cancelled")) == 2
    assert [event.session for event in played.events("session.destroyed")] == [id]


async def test_accounting(desk):
    """A-103, A-104: every answer is on the bill of the root, and no agent is counted twice."""
    played = await desk(NESTED, nested(await rehearsed(desk)), settings=DEEP).run("desk.ai")

    tree, totals = played.result.op_tree, played.result.totals
    usage = [event.usage for event in played.events("llm.response")]
    assert totals.model_requests == len(played.model.heard) == len(usage) == 13
    assert totals.tokens_in == tree.totals.tokens_in == sum(used.tokens_in for used in usage)
    assert totals.tokens_out == tree.totals.tokens_out == sum(used.tokens_out for used in usage)
    assert totals.agents_run == tree.totals.agents_run == 4
    assert {entry.chain_trigger for entry in played.result.accounting} == {None, "sub", "clarify"}


async def test_the_op_tree_shows_a_clarification_under_the_call_that_asked(desk, clerk):
    """A-103, A-105."""
    id = await clerk()
    said = {"desk": [CALL, {"calls": [ask(id)]}, "ok"], "clerk": ["3", "twice"]}
    played = await desk(FILES, said).run("desk.ai")

    op = played.result.op_tree.turns[1].ops[1]
    assert (op.name, op.op_id, op.status) == ("agent__ask_clarification", "2-2", "ok")
    assert (op.child_session.agent_id, op.child_session.cause) == ("clerk", "clarify")
    assert op.child_session.turns[0].ops[0].op_id == "2-2.2-1"


async def test_the_timeline_tells_who_is_asked_again_and_who_may_not_be(desk):
    """A-106."""
    files = {"desk": "agents: [clerk.ai, boy.ai]", "clerk": "chat: true", "boy": ""}
    first = {"calls": [*CALL["calls"], *called("boy")["calls"]]}
    said = {"desk": [first, {"calls": [ask("clerk"), ask("boy")]}, "ok"], "clerk": ["3", "A"], "boy": ["b"]}
    lines = list(timeline((await desk(files, said).run("desk.ai")).drafts, detailed=True))

    assert "    clerk is asked again" in lines
    assert "desk may not ask boy: boy does not take questions (no `chat: true`)" in lines
    assert "  clerk can no longer be asked: desk has ended" in lines


async def test_the_answer_of_a_kept_child_ends_with_its_id_and_that_of_another_does_not(desk):
    """A-92, A-93."""
    for chat in ("chat: true", "chat: false", ""):
        files = {"desk": "agents: [clerk.ai]", "clerk": chat}
        played = await desk(files, {"desk": [CALL, "ok"], "clerk": ["3"]}).run("desk.ai")
        [text] = results(played)
        if chat == "chat: true":
            content, footer = text.split(DIVIDER)
            assert content == "3"
            assert Ids(played)("clerk") in footer
            assert "turns left: 9" in footer
        else:
            assert text == "3\n[runtime: 0 tool calls]"
            assert not played.events("session.frozen")


async def test_the_footer_stays_when_a_long_answer_is_cut(desk):
    """A-93."""
    files = {"desk": "agents: [clerk.ai]\ntoolResponseMaxBytes: 1000", "clerk": "chat: true"}
    played = await desk(files, {"desk": [CALL, "ok"], "clerk": ["3" * 5000]}).run("desk.ai")

    content, footer = results(played)[0].split(DIVIDER)
    assert "more bytes left out" in content
    assert Ids(played)("clerk") in footer


async def test_asking_is_offered_only_while_somebody_can_be_asked(desk):
    """A-94: the enum holds the live children, in the order of their calls."""
    twice = {"calls": CALL["calls"] * 2}
    files = {"desk": "agents: [clerk.ai]\nmaxTurns: 4", "clerk": "chat: true"}
    played = await desk(files, {"desk": [CALL, twice, CALL, {"report": "ok"}], "clerk": ["3"]}).run("desk.ai")

    offered = [{spec.name: spec for spec in request.tools} for request in played.model.heard_from("desk")]
    ids = [
        tools["agent__ask_clarification"].parameters["properties"]["child_id"]["enum"]
        for tools in offered[1:3]
    ]
    assert "agent__ask_clarification" not in offered[0]
    assert ids == [[Ids(played)("clerk")], [Ids(played)("clerk", number) for number in range(3)]]
    assert list(offered[3]) == ["agent__final_report"]


async def test_agents_without_kept_children_are_offered_what_they_always_were(desk):
    """A-94: the very same objects every turn."""
    files = {"desk": "agents: [clerk.ai]", "clerk": ""}
    played = await desk(files, {"desk": [CALL, CALL, "ok"], "clerk": ["3"]}).run("desk.ai")

    first, *others = [request.tools for request in played.model.heard_from("desk")]
    assert all(tools is first for tools in others)


async def test_five_questions_in_a_row_are_answered_and_each_answer_knows_those_before(desk, clerk):
    """A-99, A-100: turns alone bound it."""
    id = await clerk()
    asks = [{"calls": [ask(id, f"question {number}")]} for number in range(5)]
    said = {"desk": [CALL, *asks, "ok"], "clerk": [*(f"answer {number}" for number in range(6))]}
    played = await desk(FILES, said).run("desk.ai")

    left = [answer(text)[0]["turnsRemaining"] for text in results(played)[1:]]
    assert left == [8, 7, 6, 5, 4]
    last = played.model.heard_from("clerk")[-1].messages
    assert [message.text for message in last if message.role == "assistant"] == [
        f"answer {n}" for n in range(5)
    ]


async def test_two_questions_in_one_turn_are_answered_one_after_the_other(desk, clerk):
    """A-95: the second answer knows the first, however long that took."""
    id = await clerk()
    asks = {"calls": [ask(id, "a?"), ask(id, "b?")]}
    at = desk(FILES, {"desk": [CALL, asks, "ok"], "clerk": ["3", {"delay": "5s", "text": "A"}, "B"]})
    played = await at.run("desk", "hello", lasting=10)

    assert [answer(text)[0]["content"] for text in results(played)[1:]] == ["A", "B"]
    said = [message.text.rpartition("\n")[2] for message in played.model.heard_from("clerk")[2].messages[1:]]
    assert said == ["count", "3", "a?", "A", "b?"]


async def test_a_report_given_as_a_call_is_answered_before_the_conversation_goes_on(desk, clerk):
    """A-95: providers refuse a conversation with a call that has no answer; the final report is reset."""
    id = await clerk()
    said = {"desk": [CALL, {"calls": [ask(id)]}, "ok"], "clerk": [{"report": "3"}, {"report": "twice"}]}
    played = await desk(FILES, said).run("desk.ai")

    heard = played.model.heard_from("clerk")[1].messages
    assert [message.role for message in heard] == ["system", "user", "assistant", "tool", "user"]
    assert heard[3].answers == heard[2].calls[0].id
    assert answer(results(played)[-1])[0]["content"] == "twice"


async def test_the_last_turn_of_a_child_offers_only_the_report(desk, clerk):
    """A-99: what is left of its turns is what a clarification may take."""
    files = {"desk": "agents: [clerk.ai]", "clerk": "chat: true\nmaxTurns: 2\nagents: [boy.ai]", "boy": ""}
    id = await clerk(files)
    said = {"desk": [CALL, {"calls": [ask(id)]}, "ok"], "clerk": ["3", {"report": "twice"}]}
    played = await desk(files, said).run("desk.ai")

    assert played.offered("clerk", 0) == ["agent__boy", "agent__final_report"]
    assert played.offered("clerk", 1) == ["agent__final_report"]
    assert answer(results(played)[-1])[0]["turnsRemaining"] == 0


async def test_advisors_are_asked_back_by_the_agent_they_advised(desk):
    """A-69: the id stands in the advisory; one without chat advises once."""
    files = {"desk": "advisors: [law.ai, tax.ai]", "law": "chat: true", "tax": ""}
    advice = {"law": ["forbidden", "by paragraph 3"], "tax": ["cheap"]}
    id = Ids(await desk(files, {"desk": ["ok"], **advice}).run("desk.ai"))("law")
    asks = {"calls": [ask(id, "by which law?"), ask("tax")]}
    played = await desk(files, {"desk": [asks, "ok"], **advice}).run("desk.ai")

    law, tax = blocks(played.prompt("desk"))[1:]
    assert id in law[2].split(DIVIDER)[1]
    assert tax[2] == "cheap"
    assert "agent__ask_clarification" in played.offered("desk")
    told, refused = results(played)
    assert answer(told)[0]["content"] == "by paragraph 3"
    assert refusal(refused)["code"] == "chat_disabled"
    assert played.drafts[-1].event.type == "run.completed"


async def test_only_the_conversation_goes_on_and_nothing_around_it(desk, clerk):
    """A-95: advisors and handoff of the child ran once; a router that answered itself routes no more."""
    files = {
        "desk": "agents: [clerk.ai]",
        "clerk": "chat: true\nadvisors: [law.ai]\nhandoff: editor.ai\nrouter: {destinations: [other.ai]}",
        "law": "",
        "editor": "",
        "other": "",
    }
    others = {"law": ["by law"], "editor": ["Dear desk"]}
    first = await desk(files, {"desk": [CALL, "ok"], "clerk": ["3"], **others}).run("desk.ai")
    said = {"desk": [CALL, {"calls": [ask(Ids(first)("clerk"))]}, "ok"], "clerk": ["3", "twice"], **others}
    played = await desk(files, said).run("desk.ai")

    assert played.started() == ["desk", "law", "clerk", "editor", "clerk"]
    assert results(played)[0].startswith("Dear desk")
    assert answer(results(played)[-1])[0]["content"] == "twice"
    assert "router__handoff-to" in played.offered("clerk", 0)
    assert "router__handoff-to" not in played.offered("clerk", 1)


async def test_a_child_that_routed_or_failed_gave_no_report_to_ask_about(desk):
    """A-93: frozen after its first final report."""
    files = {
        "desk": "agents: [clerk.ai]",
        "clerk": "chat: true\nrouter: {destinations: [other.ai]}",
        "other": "",
    }
    for clerk in ({"route": "other"}, {"error": {"message": "down", "retryable": False}}):
        played = await desk(files, {"desk": [CALL, "ok"], "clerk": [clerk], "other": ["o"]}).run("desk.ai")
        assert not played.events("session.frozen")
        assert "agent__ask_clarification" not in played.offered("desk", 1)


async def test_a_clarification_that_fails_says_so_and_the_child_stays(desk, clerk):
    """A-96."""
    id = await clerk()
    broken = {"error": {"message": "down", "retryable": False}}
    asks = {"calls": [ask(id)]}
    played = await desk(FILES, {"desk": [CALL, asks, asks, "ok"], "clerk": ["3", broken, "twice"]}).run(
        "desk.ai"
    )

    failed, told = results(played)[1:]
    assert '"status":"failed"' in failed
    assert "down" in failed
    assert answer(told)[0]["content"] == "twice"
    assert [event.success for event in played.events("clarification.answered")] == [False, True]


async def test_only_the_session_that_caused_a_child_may_ask_it(desk):
    """A-94: a stranger's id is unknown, and the answer names those that can be asked."""
    files = {
        "desk": "agents: [clerk.ai, boy.ai]",
        "clerk": "chat: true\nagents: [boy.ai]",
        "boy": "chat: true",
    }
    rehearsal = {"desk": [CALL, "ok"], "clerk": [called("boy"), "3"], "boy": ["b"]}
    ids = Ids(await desk(files, rehearsal).run("desk.ai"))
    asks = {
        "calls": [
            ask(ids("boy")),
            ask("nobody"),
            ask(ids("clerk"), " "),
            {"tool": "agent__ask_clarification"},
        ]
    }
    played = await desk(files, {**rehearsal, "desk": [CALL, asks, "ok"]}).run("desk.ai")

    stranger, nobody, empty, malformed = results(played)[1:]
    assert refusal(stranger)["code"] == refusal(nobody)["code"] == "unknown_child"
    assert ids("clerk") in refusal(nobody)["content"]
    assert empty == "(tool failed: question is empty)"
    assert "child_id" in malformed
    assert len(played.model.heard_from("boy")) == 1


async def test_a_child_may_be_named_by_its_agent_while_it_is_the_only_one(desk):
    """O-26: of two, nobody knows who is meant."""
    asks = {"calls": [ask("clerk")]}
    twice = {"calls": CALL["calls"] * 2}
    for first, told in ((CALL, '"content":"A"'), (twice, "unknown_child")):
        played = await desk(FILES, {"desk": [first, asks, "ok"], "clerk": ["3", "A"]}).run("desk.ai")
        assert told in results(played)[-1]


async def test_a_child_that_is_asked_may_call_new_children_and_ask_them_later(desk, clerk):
    """A-101: whom it called in one clarification it may ask in the next."""
    files = {"desk": "agents: [clerk.ai]", "clerk": "chat: true\nagents: [boy.ai]", "boy": "chat: true"}
    id = await clerk(files)
    asks = {"calls": [ask(id)]}
    said = {
        "desk": [CALL, asks, asks, "ok"],
        "clerk": ["3", called("boy"), "C", "D"],
        "boy": ["b", "b again"],
    }
    boy = Ids(await desk(files, said).run("desk.ai"))("boy")
    said["clerk"] = ["3", called("boy"), "C", {"calls": [ask(boy)]}, "D"]
    played = await desk(files, said).run("desk.ai")

    assert answer(results(played, "clerk")[-1])[0]["content"] == "b again"
    assert [d.agent_id for d in played.drafts if d.event.type == "session.destroyed"] == ["boy", "clerk"]


async def test_a_clarification_is_no_new_descendant(desk, clerk):
    """A-100, O-20: the second child may still come."""
    settings = SETTINGS + "budget: {descendants: 2}\n"
    id = await clerk()
    said = {"desk": [CALL, {"calls": [ask(id)]}, CALL, "ok"], "clerk": ["3", "A"]}
    played = await desk(FILES, said, settings=settings).run("desk.ai")

    assert results(played)[-1].startswith("3")


async def test_children_are_counted_over_the_whole_conversation_that_calls_them(desk, clerk):
    """X-3: being asked again gives no new allowance."""
    settings = SETTINGS + "limits: {childrenPerParent: 1}\n"
    files = {"desk": "agents: [clerk.ai]", "clerk": "chat: true\nagents: [boy.ai]", "boy": ""}
    id = await clerk(files)
    said = {"desk": [CALL, {"calls": [ask(id)]}, "ok"], "clerk": [called("boy"), "3", called("boy"), "A"]}
    played = await desk(files, {**said, "boy": ["b"]}, settings=settings).run("desk.ai")

    assert "limits.childrenPerParent" in results(played, "clerk")[-1]


BOUND = {"desk": "agents: [clerk.ai]", "clerk": "chat: true\nbudget: {requests: 2}"}


def bound(id):
    """The second question is one too many for the child's budget."""
    asks = {"calls": [ask(id)]}
    return {"desk": [CALL, asks, asks, "ok"], "clerk": ["3", {"report": "twice"}, "never"]}


async def test_a_clarification_is_paid_from_the_budget_of_the_child(desk, clerk):
    """O-20: the budgets bound what no cap does."""
    played = await desk(BOUND, bound(await clerk(BOUND))).run("desk.ai")

    told, stopped = results(played)[1:]
    assert answer(told)[0]["content"] == "twice"
    assert "2 requests of 'clerk'" in stopped
    assert len(played.model.heard_from("clerk")) == 2


async def test_an_agent_that_its_caller_made_up_does_not_take_questions(desk):
    """A-97."""
    settings = SETTINGS + "orchestration: {enable_agent_tool: true, auto_approve: true}\n"
    call = {"calls": [{"tool": "call_agent", "arguments": {"mission": "m"}}]}
    script = {"desk": [call, {"calls": [ask("custom")]}, "ok"], "custom": ["3"]}
    played = await desk({"desk": "", "clerk": ""}, script, settings=settings).run("desk.ai")

    assert refusal(results(played)[-1])["code"] == "chat_disabled"
