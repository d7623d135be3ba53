"""A team cut after any of its events and continued ends the same."""

from folkmoot import MemoryJournal, tool
from tests.orchestration.test_team import BROKEN, left
from tests.test_resume import by_span, cut_and_continued

LOOK = {"calls": [{"tool": "look", "arguments": {"where": "x"}}]}
FILES = {
    "review": "team: {members: [coder.ai, tester.ai, critic.ai, idler.ai], supervisor: boss.ai, memberMaxTurns: 3}\nhandoff: editor.ai\nadvisors: [law.ai]",
    "boss": "handoff: clerk.ai\nadvisors: [law.ai]",
    "coder": "tools: [look]\nadvisors: [style.ai]",
    **dict.fromkeys(("tester", "critic", "idler", "law", "style", "clerk", "editor"), ""),
}
SAID = {
    "coder": [LOOK, {"broadcast": "one"}, {"broadcast": "two"}],
    "tester": ["plain", left("tested")],
    "critic": ["so so", BROKEN],
    "idler": [{"broadcast": "a"}, {"broadcast": "b"}, {"broadcast": "c"}],
    "boss": [{"broadcast": "go on"}, {"broadcast": "once more"}, {"report": "reviewed"}],
    **{name: [f"{name} speaks"] for name in ("law", "style", "clerk", "editor")},
}


@tool(effect="pure", access="read")
async def look(where: str) -> str:
    """Look somewhere."""
    return f"seen {where}"


async def test_a_team_cut_after_any_event_continues_to_the_same_end(desk):
    """A-76, A-112, DESIGN 4: nothing is read twice, nobody speaks twice, none takes another's place."""
    whole = await desk(FILES, SAID, tools=[look]).run("review")
    assert whole.report == "editor speaks"
    assert {"team.member_exited", "team.member_failed", "team.cancelled", "team.completed"} <= {*whole.types}

    for cut in range(1, len(whole.drafts)):
        again = desk(FILES, SAID, tools=[look])
        played = await cut_and_continued(again, whole.drafts, cut, MemoryJournal(again.clock.monotonic))

        assert by_span(played.drafts) == by_span(whole.drafts), f"cut after event {cut}"
        assert played.report == whole.report
        assert played.result.totals == whole.result.totals
        assert played.result.teams == whole.result.teams
