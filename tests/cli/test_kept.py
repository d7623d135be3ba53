"""`folkmoot sessions list --live` and `folkmoot sessions destroy`."""

from tests.cli.conftest import FOREVER, interrupted, wait_for

CALL = {"calls": [{"tool": "agent__b", "arguments": {"prompt": "p", "reason": "r"}}]}
FILES = {"a": "agents: [b.ai]", "b": "chat: true\nmaxTurns: 4"}


def test_a_kept_session_is_listed_and_destroyed_from_another_process(folkmoot):
    """A-113, O-26: id, agent and turns left; then nobody can ask it."""
    folkmoot.write(FILES, {"a": [CALL, FOREVER], "b": ["3"]})
    process = folkmoot.started("run", "a.ai", "x", "-v")
    wait_for(process.stderr, "a asks s/demo, turn 2")

    [child] = folkmoot("sessions", "list", "--live", "--json").json
    assert (child["agentId"], child["turnsRemaining"], child["clarifications"]) == ("b", 3, 0)
    head, row, *_ = folkmoot("sessions", "list", "--live", "last").out.splitlines()
    assert head.split() == ["AGENT", "TURNS", "LEFT", "ASKED", "SESSION"]
    assert row.split() == ["b", "3", "0", child["id"]]

    assert "is destroyed" in folkmoot("sessions", "destroy", child["id"]).err
    assert folkmoot("sessions", "list", "--live", "--json").json == []
    assert "no finished session" in folkmoot("sessions", "list", "--live").err
    assert interrupted(process).code == 130
