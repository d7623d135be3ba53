"""Conversations show what main agents said to each other, and nothing else."""

import msgspec
import pytest
from msgspec.structs import replace

from folkmoot.domain.entry import Draft, role
from folkmoot.domain.team_events import A2aSend
from folkmoot.journal.codec import from_line, to_line
from folkmoot.ports import Query
from folkmoot.views.conversations import conversations
from tests.orchestration.messages import ANN, BOB, calls, have, tell, write

FAULT = {"error": {"message": "no", "retryable": False}}


async def test_a_thread_has_a_title_participants_turns_and_times(desk):
    """E-7, E-77, E-84."""
    script = {
        "ann": [calls(write("bob", "one\ntwo", label="The law")), calls(write("cid")), "done"],
        "bob": ["yes"],
        "cid": [FAULT],
    }
    played = await desk({"ann": ANN, "bob": BOB, "cid": ""}, script).run("ann.ai")

    [thread] = conversations(played.drafts).values()
    assert thread.title == "The law"
    assert thread.participants == ["ann", "bob", "cid"]
    assert thread.started_at == thread.last_at == "2026-01-01T00:00:00.000Z"
    first, second = thread.turns
    assert (first.from_agent, first.to_agent, first.message) == ("ann", "bob", "one\ntwo")
    assert (first.outcome, first.reply, first.answered_at) == ("replied", "yes", first.at)
    assert (second.outcome, second.reply) == ("blocked", "")
    assert "no model answered" in second.error


async def test_what_agents_have_others_do_is_never_shown_there(desk):
    """E-6, E-7, X-E1: the events keep their conversation ids; the view leaves them out, unless it is asked for all."""
    files = {"ann": ANN, "bob": "tools: [messages]", "cid": ""}
    script = {
        "ann": [calls(have("bob"), write("cid", "between us")), "done"],
        "bob": [calls(write("cid")), "3"],
        "cid": ["ok"],
    }
    played = await desk(files, script).run("ann.ai")

    [shown] = conversations(played.drafts).values()
    assert [(turn.from_agent, turn.message) for turn in shown.turns] == [("ann", "between us")]
    [whole] = conversations(played.drafts, delegated=True).values()
    assert sorted(turn.from_agent for turn in whole.turns) == ["ann", "ann", "bob"]


async def test_a_message_that_no_runtime_marked_is_no_conversation(desk):
    """E-8: as it comes with an imported journal, of agents that nobody knows."""
    event = A2aSend("x", "y", "conv_1", "s", "r", "ws_1", message="hi")
    unmarked = Draft("2026-01-01T00:00:00.000Z", event, span="0", conversation_id="conv_1")

    assert role(unmarked) == "delegation.subagent"
    assert conversations([unmarked]) == {}
    assert [*conversations([unmarked], delegated=True)] == ["conv_1"]
    assert [*conversations([replace(unmarked, event=replace(event, main=True))])] == ["conv_1"]


async def test_every_event_that_is_exported_names_one_of_the_four_roles(desk):
    """E-1, E-85: the chain of one conversation is found in the lines of the log."""
    at = desk(
        {"ann": ANN, "bob": BOB},
        {"ann": [calls(write("bob"), have("bob")), calls(tell()), "done"], "bob": ["yes"]},
    )
    await at.run("ann.ai")
    lines = [to_line(entry) async for entry in at.journal.read(Query(stream="run-1"))]

    told = [msgspec.json.decode(line) for line in lines]
    assert {line["role"] for line in told} == {
        "conversation.main",
        "delegation.subagent",
        "system.observability",
    }
    chain = [line for line in told if line["type"].startswith("a2a.")]
    assert len({line["conversationId"] for line in chain}) == 1
    assert all(line["data"]["conversationId"] == line["conversationId"] for line in chain)
    assert [*conversations(from_line(line).draft for line in lines)] == [chain[0]["conversationId"]]


@pytest.mark.parametrize(
    ("label", "text", "title"),
    [
        ("Label", "[Goal] ship it\nnow", "Label"),
        ("", "Hello.\n[Goal] ship it\nnow", "ship it"),
        ("", "Hello.\nHow are you?", "Hello."),
        ("", "x" * 90, "x" * 79 + "…"),
    ],
)
def test_a_thread_is_called_by_its_label_its_goal_or_its_first_line(label, text, title):
    """E-83."""
    event = A2aSend("x", "y", "conv_1", "s", "r", "ws_1", label=label, main=True, message=text)

    [thread] = conversations([Draft("2026-01-01T00:00:00.000Z", event)]).values()
    assert thread.title == title
