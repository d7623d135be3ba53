"""What another session goes on with."""

from folkmoot.domain.events import (
    LlmRequest,
    LlmResponse,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    ToolFinished,
)
from folkmoot.domain.message import Message, ToolCall, Usage
from folkmoot.domain.report import FINAL_REPORT, Outcome
from folkmoot.session.record import DELIVERED, NOT_MADE, conversation

DONE = SessionCompleted(Outcome(agent="ann", span="0"))
FAILED = SessionFailed(Outcome(agent="ann", span="0", error="budget exceeded"))


def said(text="", *calls, turn=1):
    message = Message("assistant", text, calls)
    return [
        LlmRequest(turn, 1, "p/first", 4096, 5000),
        LlmResponse(turn, 1, "p/first", message, Usage(100, 20)),
    ]


def read(agent, *spans):
    return [(message.role, message.text) for message in conversation(agent, spans)]


def test_sessions_follow_each_other_with_one_system_prompt(begun):
    """A-95."""
    agent = begun().brief.agent
    first = [SessionStarted("ann.ai", "count"), *said("3"), DONE]
    second = [SessionStarted("ann.ai", "why?"), *said("because", turn=2), DONE]

    assert read(agent, first, second) == [
        ("system", "You are Ann."),
        ("user", "count"),
        ("assistant", "3"),
        ("user", "why?"),
        ("assistant", "because"),
    ]


def test_every_call_of_the_last_answer_has_an_answer(begun):
    """A-95: the results of others, and that the report was delivered."""
    agent = begun().brief.agent
    calls = [ToolCall("1", "look"), ToolCall("2", FINAL_REPORT)]
    looked = ToolFinished(turn=1, call=1, tool="look", text="seen", evidence="ev_1")
    ended = [SessionStarted("ann.ai", "count"), *said("", *calls), looked, DONE]

    assert read(agent, ended)[-2:] == [("tool", "seen"), ("tool", DELIVERED)]
    assert [message.answers for message in conversation(agent, [ended])][-2:] == ["1", "2"]


def test_a_call_that_a_failing_session_did_not_make_is_said_to_be_not_made(begun):
    ended = [SessionStarted("ann.ai", "count"), *said("", ToolCall("1", "look")), FAILED]

    assert read(begun().brief.agent, ended)[-1] == ("tool", NOT_MADE)
