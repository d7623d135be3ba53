"""A team cut after any of its events and continued ends the same."""

from folkmoot import MemoryJournal
from folkmoot.ports import Query
from tests.desk import look
from tests.golden import make
from tests.orchestration.test_team import BROKEN, STRAY, left

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


async def test_a_team_cut_after_any_event_continues_to_the_same_end(desk):
    """A-76, A-112, DESIGN 4: nothing is read twice, nobody speaks twice, none takes another's place."""
    whole = await desk(FILES, SAID, tools=[look]).run_cut_anywhere("review")
    assert whole.report == "editor speaks"
    assert {"team.member_exited", "team.member_failed", "team.cancelled", "team.completed"} <= {*whole.types}


SLIP_FILES = {
    "desk": "team: {members: [coder.ai], supervisorMaxTurns: 5}\nhandoff: editor.ai\n"
    "output: {format: json, schema: {type: object, required: [a]}}",
    "coder": "",
    "editor": "",
}
SLIP_SAID = {"coder": [left("done")], "desk": [STRAY, {"report": {"a": 1}}], "editor": ["e"]}


async def test_a_lead_that_mends_its_report_cut_after_any_event_continues_to_the_same_end(desk):
    """A-81, O-46, K-120."""
    whole = await desk(SLIP_FILES, SLIP_SAID).run_cut_anywhere("desk")
    assert whole.report == "e"


async def test_a_run_of_0_1_0_is_resumed_with_the_turns_and_texts_it_was_started_with(desk):
    """K-120, K-125: the lead had one turn, and the error of a first stage named no stage."""
    journal = await make.opened("lead-slip")
    recorded = [entry.draft async for entry in journal.read(Query(stream="run-1"))]

    for cut in range(1, len(recorded)):
        again = desk(SLIP_FILES, SLIP_SAID)
        target = MemoryJournal(again.clock.monotonic)
        for pinned in (recorded[0].event.graph, recorded[0].event.tools):
            target.keep(await journal.artifact(pinned))
        played = await again.continued(recorded[:cut], journal=target)

        assert played.result.error == "the model gave no final report within 1 turn", f"cut after {cut}"
