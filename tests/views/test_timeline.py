from folkmoot.domain.entry import Draft
from folkmoot.domain.events import LlmRequest
from folkmoot.views.timeline import line_of, timeline

FILES = {
    "desk": "advisors: [risk.ai]\nrouter: {destinations: [billing.ai]}",
    "risk": "description: r",
    "billing": "agents: [clerk.ai]\nhandoff: editor.ai",
    "clerk": "description: c",
    "editor": "description: e",
}
SCRIPT = {
    "desk": [{"route": "billing"}],
    "risk": [{"error": {"message": "gone", "retryable": False}}],
    "billing": [
        {"calls": [{"tool": "agent.clerk", "arguments": {"prompt": "look", "reason": "r"}}]},
        {"report": "paid"},
    ],
    "clerk": ["found"],
    "editor": ["Dear customer"],
}


async def test_a_run_is_told_with_who_caused_whom(desk):
    """A-106, B-59: advisors, route, handoff and calls are visible, each child below its parent."""
    played = await desk(FILES, SCRIPT).run("desk.ai")

    assert list(timeline(played.drafts)) == [
        "  risk starts as an advisor",
        "  risk got no answer from scripted/any: gone",
        "  risk failed: no model answered after 1 attempt; the last: gone",
        "desk starts",
        "desk routes to billing",
        "  billing starts, chosen by the router",
        "  billing calls agent__clerk",
        "    clerk starts, called as a tool",
        "    clerk is done",
        "  billing is done",
        "  billing hands over to editor",
        "    editor starts, to answer after the others",
        "    editor is done",
    ]


async def test_details_are_told_to_those_who_ask(desk):
    played = await desk(
        {"a": "description: a"}, {"a": [{"text": "hi", "usage": {"tokensIn": 7, "tokensOut": 2}}]}
    ).run("a.ai")

    assert list(timeline(played.drafts, detailed=True)) == [
        "a starts",
        "a asks scripted/any, turn 1",
        "a has an answer: 7 tokens in, 2 out",
        "a is done",
    ]


def test_a_second_attempt_is_worth_a_line():
    asked = LlmRequest(turn=1, attempt=2, model="s/m", max_output=1, reserved_tokens=1)

    assert line_of(Draft("", asked, span="0", agent_id="a")) == "a asks again: s/m, attempt 2"
