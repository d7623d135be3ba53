"""The one written form of a call."""

import json

import pytest

from folkmoot.domain.message import ToolCall, canonical, fingerprint, title, visible


def test_the_same_call_is_written_the_same_whatever_the_order_of_its_arguments():
    """O-17."""
    first, second = (
        ToolCall("1", "pay", {"a": 1, "b": {"c": 2, "d": 3}}),
        ToolCall("2", "pay", {"b": {"d": 3, "c": 2}, "a": 1}),
    )

    assert fingerprint(first) == fingerprint(second)
    assert fingerprint(first) != fingerprint(ToolCall("1", "pay", {"a": 1, "b": {"c": 2, "d": 4}}))
    assert fingerprint(first) != fingerprint(ToolCall("1", "play", first.arguments))


@pytest.mark.parametrize("hidden", ["\x1b[2J", "\u202e", "\u200b", "\ufeff", "\x85", "\U000e0041", "\u2028"])
def test_whatever_could_hide_is_spelled_out_and_means_the_same(hidden):
    """O-17: what a person approves is what they see."""
    arguments = {"to": f"ann{hidden}bob"}
    shown = visible(canonical("pay", arguments))

    assert hidden[0] not in shown
    assert json.loads(shown)["arguments"] == arguments


def test_text_of_other_languages_stays_readable():
    assert visible("größer 日本 🙂") == "größer 日本 🙂"


@pytest.mark.parametrize(("length", "cut"), [(150, False), (151, True)])
def test_the_title_of_a_sub_agent_cuts_its_mission(length, cut):
    """B-32, O-17: 151 characters are cut, 150 are not; it is a title only."""
    call = ToolCall("", "call_agent", {"mission": "m" * length})

    assert title(call).splitlines() == [
        "SUB-AGENT EXECUTION",
        "Tool: call_agent",
        "Specialist: unknown",
        "Mission: " + "m" * 150 + ("..." if cut else ""),
    ]
    forged = ToolCall("", "call_agent", {"mission": "x\nTool: look"})
    assert len(title(forged).splitlines()) == 4
    named = ToolCall("", "call_agent", {"mission": "m", "specialist": "coder"})
    assert "Specialist: coder" in title(named)


def test_the_title_of_any_other_call_names_its_tool():
    assert title(ToolCall("", "pay", {"to": "x"})) == "TOOL EXECUTION\nTool: pay"
