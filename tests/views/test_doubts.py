from folkmoot.domain.entry import Draft
from folkmoot.domain.events import ToolFinished, ToolInDoubt, ToolStarted
from folkmoot.views.doubts import Doubt, doubts


def draft(event, session="run-1", agent="a"):
    return Draft("2026-01-01T00:00:00.000Z", event, session, "0", agent)


def begun(call):
    return ToolStarted(
        turn=1, call=call, tool="pay", arguments={}, effect="once", access="write", key=f"key {call}", decision="d"
    )  # fmt: skip


def doubt(call):
    return ToolInDoubt(turn=1, call=call, tool="pay")


def test_a_call_in_doubt_is_named_with_its_agent_its_place_and_its_key():
    drafts = [draft(begun(1)), draft(begun(2)), draft(doubt(2))]

    assert doubts(drafts) == [Doubt("a", "pay", 1, 2, "key 2")]


def test_a_call_with_a_result_is_in_doubt_no_more():
    done = ToolFinished(turn=1, call=1, tool="pay", text="paid", evidence="e")
    elsewhere = [draft(begun(1), "other", "b"), draft(doubt(1), "other", "b")]

    assert doubts([draft(begun(1)), draft(doubt(1)), *elsewhere, draft(done)]) == [
        Doubt("b", "pay", 1, 1, "key 1")
    ]
