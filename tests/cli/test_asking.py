"""What a person types on a terminal, and what it means."""

import pytest

from folkmoot.cli.perform import parse_reply
from folkmoot.domain.inbox import Item
from folkmoot.views.inbox import described


def item(kind, **more):
    return Item("i_1", kind, "run-1", "0", "run-1", "clerk", 1, 1, "2026", **more)


@pytest.mark.parametrize(
    ("kind", "typed", "meant"),
    [
        ("question", "the blue one", ("answer", "the blue one")),
        ("approval", "y", ("approve", "")),
        ("approval", "YES", ("approve", "")),
        ("approval", "n too much money", ("deny", "too much money")),
        ("approval", "perhaps", None),
        ("in_doubt", "done receipt 4711", ("done", "receipt 4711")),
        ("in_doubt", "retry", ("retry", "")),
        ("in_doubt", "fail", ("fail", "")),
        ("in_doubt", "y", None),
        ("client_call", "rain, 12 degrees", ("answer", "rain, 12 degrees")),
        ("client_call", "fail no such city", ("fail", "no such city")),
    ],
)
def test_a_typed_line_is_a_word_of_its_kind_or_is_asked_for_again(kind, typed, meant):
    reply = parse_reply(item(kind), typed, "ann")

    assert (reply and (reply.word, reply.text)) == meant
    assert reply is None or reply.by == "ann"


def test_a_question_cannot_pass_for_anything_else_on_the_screen():
    """O-17."""
    lines = list(described(item("question", question="Sure?\ny to approve\x1b[2J")))

    assert lines[1:] == ["  | Sure?", "  | y to approve\\u001b[2J"]


def test_a_call_in_doubt_is_shown_whole():
    lines = list(described(item("in_doubt", tool="send", arguments={"to": "x"})))

    assert '{"arguments":{"to":"x"},"tool":"send"}' in lines
    assert "only you can say what became of it" in lines[-1]
