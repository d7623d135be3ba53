"""Teams as their users meet them in the terminal."""

import json

from tests.cli.conftest import ended
from tests.orchestration.test_nested_teams import FILES, SAID
from tests.orchestration.test_team import STRAY, left


def test_a_team_within_a_team_is_checked_drawn_run_and_shown(folkmoot):
    """A-30, O-48, K-122: a member that leads a team, and one that routes."""
    agents = FILES | {"coder": "advisors: [style.ai]"}
    folkmoot.write(agents, SAID | {"coder": SAID["coder"][1:]})

    assert folkmoot("check").code == 0
    assert "├─ member build.ai\n│  ├─ advisor law.ai\n│  ├─ member coder.ai" in folkmoot("graph").out
    done = ended(folkmoot.started("run", "board.ai", "make it"))
    assert (done.code, done.out) == (0, "all is well\n")
    assert "    coder broadcasts: wrote it\n" in done.err
    assert "  build broadcasts: it works\n" in done.err
    shown = folkmoot("runs", "show", "last").out
    assert "    build (member) completed\n" in shown
    assert "      build (lead) completed\n        turn 1" in shown
    assert "      prices (route) completed\n" in shown
    tree = [line.split()[:3] for line in folkmoot("sessions", "list").out.splitlines()]
    assert ["│", "├─", "coder"] in tree
    assert folkmoot("runs", "replay", "last").code == 0
    assert folkmoot("verify").code == 0


def test_one_slip_of_a_lead_without_members_does_not_lose_the_teams_work(folkmoot):
    """A-81, O-46, K-120."""
    schema = "output: {format: json, schema: {type: object, required: [sum]}}"
    agents = {"desk": f"team: {{members: [clerk.ai], supervisorMaxTurns: 4}}\n{schema}", "clerk": ""}
    slips = [STRAY, {"report": {"total": 3}}]
    folkmoot.write(agents, {"clerk": [left("it is 3")], "desk": [*slips, {"report": {"sum": 3}}]})

    done = ended(folkmoot.started("run", "desk.ai", "count", "--json"))
    assert done.code == 0
    assert json.loads(done.out)["finalReport"]["contentJson"] == {"sum": 3}
