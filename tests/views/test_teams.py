from folkmoot.views.optree import outline
from folkmoot.views.result import team_transcripts
from folkmoot.views.run_tree import RunTree
from folkmoot.views.sessions import rows
from folkmoot.views.timeline import timeline
from tests.orchestration.test_team import BROKEN, FILES, SAID, left

SHORT = SAID | {"coder": [left("done")], "tester": ["so so", BROKEN]}


async def test_a_team_is_told_with_who_spoke_when(desk):
    """A-106."""
    played = await desk(FILES, SHORT).run("chief")

    told = list(timeline(played.drafts))
    assert told[:9] == [
        "chief starts its team",
        "  coder starts its turn as a member",
        "  tester starts its turn as a member",
        "  coder broadcasts: done",
        "  coder leaves the team",
        "  tester broadcasts: so so",
        "  chief starts its turn as the lead",
        "  chief broadcasts: fix line 3",
        "  tester starts its turn as a member",
    ]
    assert told[-4].startswith("  tester failed: no model answered")
    assert told[-3].startswith("  member tester failed and is no longer in the team. Reason: ")
    assert told[-2:] == ["  chief starts its turn as the lead", "  chief is done"]


async def test_the_live_tree_has_one_branch_for_each_in_the_team(desk):
    """A-105, A-106: it goes on from cycle to cycle, and a member that failed is seen to have."""
    played = await desk(FILES, SHORT).run("chief")

    tree = RunTree(played.drafts)
    shown = [
        (row.guide + row.branch.agent, row.branch.cause, row.branch.status, row.branch.turn)
        for row in rows(tree.root)
    ]
    assert shown == [
        ("chief", "", "completed", 0),
        ("├─ coder", "member", "completed", 1),
        ("├─ tester", "member", "failed", 2),
        ("└─ chief", "lead", "completed", 2),
    ]
    middle = played.types.index("llm.response")
    assert RunTree(played.drafts[:middle]).root.doing == "waits for coder, tester"


async def test_the_op_tree_shows_every_part_with_its_broadcast(desk):
    """A-105."""
    played = await desk(FILES, SAID).run("chief")

    lines = [
        f"{'  ' * line.depth}{line.text}"
        for line in outline(played.result.op_tree)
        if "scripted" not in line.text
    ]
    assert lines == [
        "chief completed",
        "  coder (member) completed",
        '    turn 1: team__broadcast(message="wrote it")',
        "  tester (member) completed",
        '    turn 1: team__broadcast(message="line 3 fails")',
        "  chief (lead) completed",
        '    turn 1: team__broadcast(message="fix line 3")',
        "  coder (member) completed",
        '    turn 2: team__broadcast(message="fixed it")',
        "  tester (member) completed",
        '    turn 2: team__broadcast(message="all green")',
        "  chief (lead) completed",
    ]


async def test_a_team_that_another_agent_called_hangs_below_the_call(desk):
    """A-105, B-23."""
    files = {**FILES, "root": "agents: [chief.ai]"}
    ask = {"calls": [{"tool": "agent__chief", "arguments": {"prompt": "x", "reason": "r"}}]}
    played = await desk(files, SAID | {"root": [ask, "thanks"]}).run("root")

    call = played.result.op_tree.turns[0].ops[1]
    assert (call.child_session.agent_id, call.child_session.success) == ("chief", True)
    assert call.child_session.totals.agents_run == 3
    assert [team.span for team in team_transcripts(played.drafts)] == ["0/turn:1/call:1"]
