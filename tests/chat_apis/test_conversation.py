"""A client's messages as what an agent is asked, and the run that they go on from."""

import pytest

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RunParked, RunStarted
from folkmoot.domain.inbox_events import ClientAnswered, ClientCalled
from folkmoot.domain.message import ToolCall
from folkmoot.http.problems import ChatError
from folkmoot.protocols.answers import AwaitedRun, build_reply
from folkmoot.protocols.conversation import ChatMessage, ChatRequest, read_conversation
from folkmoot.views.result import Result

ASK, ANSWER, NEXT = ChatMessage("user", "one"), ChatMessage("assistant", "first"), ChatMessage("user", "two")
CALL = ChatMessage("assistant", calls=(ToolCall("c1", "look", {"what": "x"}),))
FOUND = ChatMessage("tool", "found", answers="c1")


def asked(*said: ChatMessage) -> ChatRequest:
    return read_conversation("a.ai", "a", said)


def test_the_next_request_holds_the_thread_of_the_one_before():
    first, second = asked(ASK), asked(ASK, ANSWER, NEXT)

    assert [(place.thread, place.answer) for place in second.earlier] == [(first.thread, "first")]
    assert second.thread != first.thread
    assert second.request == "two"


@pytest.mark.parametrize(
    "same",
    [
        (ChatMessage("system", "Today is Monday."), ASK),
        (ChatMessage("user", " one\n"),),
        (ASK, CALL, FOUND),
    ],
)
def test_instructions_blanks_and_the_traffic_of_tools_make_no_other_thread(same: tuple[ChatMessage, ...]):
    """Clients write the time into their instructions, and trim what was said."""
    assert asked(*same).thread == asked(ASK).thread


@pytest.mark.parametrize("other", [(ChatMessage("user", "1"),), (ASK, ANSWER, NEXT), (ASK, ASK)])
def test_other_words_make_another_thread(other: tuple[ChatMessage, ...]):
    assert asked(*other).thread != asked(ASK).thread
    assert read_conversation("b.ai", "b", [ASK]).thread != asked(ASK).thread


def test_what_was_said_before_is_a_block_of_foreign_text():
    told = asked(ChatMessage("system", "Be brief."), ASK, CALL, FOUND, ANSWER, NEXT)

    instructions, before = told.blocks
    assert (instructions.tag, instructions.text, instructions.agent) == (
        "client_instructions",
        "Be brief.",
        "",
    )
    assert (before.tag, before.agent) == ("conversation", "a")
    assert (
        before.text == 'user: one\n\nassistant called look: {"what":"x"}\n\ntool: found\n\nassistant: first'
    )


def test_results_at_the_end_belong_to_a_run_that_waits():
    assert asked(ASK, CALL, FOUND).results == (FOUND,)
    assert (
        asked(ASK, CALL, FOUND, ChatMessage("user", "and quickly")).results[0].text == "found\n\nand quickly"
    )
    assert asked(ASK, CALL, FOUND, ANSWER, NEXT).results == ()


@pytest.mark.parametrize(
    "said", [(), (ANSWER,), (ASK, ANSWER), (ChatMessage("user", " "),), (ChatMessage("system", "x"),)]
)
def test_a_conversation_in_which_nothing_is_asked_is_refused(said: tuple[ChatMessage, ...]):
    with pytest.raises(ChatError):
        asked(*said)


def test_a_run_that_waits_again_before_it_has_heard_all_answers_is_not_over():
    """Whoever takes a run up after the first of two answers lets it wait for the second, which is there already."""
    called = [ClientCalled(f"c{number}", 1, number, "look", {}) for number in (1, 2)]
    events = [RunStarted("a.ai", "one", "graph", "seed"), *called, RunParked(("c1", "c2"))]
    going = AwaitedRun("r", len(events), answered=("c1", "c2"))

    def after(*more):
        return Result(
            "r", [Draft("2026-01-01T00:00:00Z", event, "r", "0", "a", "ws") for event in (*events, *more)]
        )

    heard = [ClientAnswered(each.id, "found") for each in called]
    assert not going.is_over(after(), len(events))
    again = (heard[0], RunParked(("c2",)))
    assert not going.is_over(after(*again), len(events) + 2)
    other = ClientCalled("c3", 2, 1, "look", {})
    asks = after(*heard, other, RunParked(("c3",)))
    assert going.is_over(asks, len(events) + 4)
    assert [call.id for call in build_reply(asks, going, "/").calls] == ["c3"]
