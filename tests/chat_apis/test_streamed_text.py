"""What a client of a stream may be told next: what it has is never taken back."""

import pytest

from folkmoot.http.problems import ChatError
from folkmoot.protocols.answers import ChatReply
from folkmoot.protocols.wire import StreamedText
from folkmoot.views.costs import Totals


def reply(text: str, status: str = "completed") -> ChatReply:
    return ChatReply("run-1", "ws_1", status, text, Totals(), 0.0)


def told(*said: str) -> tuple[StreamedText, list[str]]:
    made = StreamedText()
    return made, [made.more(text) for text in said]


def test_the_pieces_and_the_rest_are_the_report():
    so_far, pieces = told("He", "Hello", "Hello", "Hello, you")

    assert pieces == ["He", "llo", "", ", you"]
    assert so_far.rest(reply("Hello, you."), "/") == "."


def test_blank_words_are_held_back_because_a_blank_answer_is_none():
    so_far, pieces = told("\n", "\n\nHe")

    assert pieces == ["", "\n\nHe"]
    assert StreamedText().rest(reply("all of it"), "/") == "all of it"
    assert so_far.sent == "\n\nHe"


def test_a_new_attempt_goes_on_where_it_has_come_as_far_in_the_same_words():
    _, pieces = told("Hello, ", "", "Hel", "Hello, you")

    assert pieces == ["Hello, ", "", "", "you"]


@pytest.mark.parametrize("text", ["Never mind.", "Hel", ""])
def test_other_words_end_with_an_error_that_says_where_the_report_is(text):
    so_far, pieces = told("Hello", "Never", "Never mind.")

    assert pieces == ["Hello", "", ""]
    with pytest.raises(ChatError, match=r"Run run-1 is waiting; .* at http://h/runs/run-1, and") as wrong:
        so_far.rest(reply(text, "waiting"), "http://h/")
    assert (wrong.value.code, wrong.value.headers) == ("answer_changed", {"x-should-retry": "false"})
