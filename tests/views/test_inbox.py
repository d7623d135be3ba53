"""The inbox on a screen."""

import pytest

from folkmoot.domain.inbox import Item
from folkmoot.views.inbox import document, how_to_answer, what, whole_call


def item(kind, **more):
    return Item("i_1", kind, "run-1", "0/turn:1/call:1", "run-1:sub", "clerk", 1, 2, "2026", **more)


def test_an_item_shows_where_it_comes_from_and_the_whole_call():
    """U-7, O-17: whatever the title leaves out."""
    approval = item("approval", tool="pay", arguments={"to": "x" * 500}, risk="high", preview="T", hash="h")
    shown = document(approval)

    assert shown["call"] == '{"arguments":{"to":"' + "x" * 500 + '"},"tool":"pay"}' == whole_call(approval)
    assert (shown["title"], shown["risk"], shown["hash"]) == ("T", "high", "h")
    assert (shown["runId"], shown["span"], shown["agentId"]) == ("run-1", "0/turn:1/call:1", "clerk")
    assert shown["status"] == "open"


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("question", 'folkmoot inbox answer i_1 "…"'),
        ("approval", 'folkmoot approvals deny i_1 --reason "…"'),
        ("in_doubt", "folkmoot inbox settle i_1 fail"),
        ("client_call", 'folkmoot inbox answer i_1 "…"'),
    ],
)
def test_each_kind_names_the_command_that_decides_it(kind, command):
    """O-22."""
    assert how_to_answer(item(kind, question="q?", tool="pay"))[-1] == command


def test_a_question_has_no_call():
    question = item("question", question="Which\u200b one?")

    assert what(question) == "Which\\u200b one?"
    assert document(question)["call"] is None
