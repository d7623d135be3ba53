"""Teams as their users meet them in the terminal."""

from tests.cli.conftest import ended
from tests.orchestration.test_nested_teams import FILES, SAID


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
