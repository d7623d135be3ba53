import signal
import sqlite3

import pytest

from tests.cli.conftest import FOREVER, interrupted, wait_for

FILES = {
    "desk": "advisors: [risk.ai]\nrouter: {destinations: [billing.ai]}",
    "risk": "maxRetries: 1",
    "billing": "handoff: editor.ai",
    "editor": "output: {format: markdown}",
}
SCRIPT = {
    "desk": [{"route": "billing", "usage": {"tokensIn": 1000, "tokensOut": 10}}],
    "risk": [{"error": "gone"}],
    "billing": [{"report": "paid"}],
    "editor": [{"report": "# Paid"}],
}

PAY = """
import threading

@tool(effect="once", access="write")
def pay() -> str:
    threading.Event().wait()
"""


@pytest.fixture
def ran(folkmoot):
    folkmoot.write(FILES, SCRIPT)
    assert folkmoot("run", "desk.ai", "money\nback", "-q").out == "# Paid\n"
    return folkmoot


def test_before_the_first_run_lists_are_empty_and_nothing_is_made(folkmoot):
    folkmoot.write(FILES, SCRIPT)

    assert folkmoot("runs", "list", "--json").json == []
    assert folkmoot("sessions", "list", "--json").json == []
    assert "nothing has run" in folkmoot("sessions", "list").err
    assert "nothing has run" in folkmoot("runs", "list").err
    assert folkmoot("runs", "show", "last").code == 2
    assert folkmoot("log", "export").code == 2
    assert not (folkmoot.folder / ".folkmoot").exists()


def test_the_list_has_one_row_a_run_newest_first(ran):
    ran("run", "billing.ai", "again", "-q")

    rows = ran("runs", "list", "--json").json
    assert [(row["agent"], row["status"], row["request"]) for row in rows] == [
        ("billing.ai", "completed", "again"),
        ("desk.ai", "completed", "money\nback"),
    ]
    assert all(row["runId"] for row in rows)
    lines = ran("runs", "list").out.splitlines()
    assert lines[0].split() == ["RUN", "STATUS", "STARTED", "TOOK", "AGENT", "ASKED"]
    assert lines[2].endswith("desk.ai     money back")


def test_a_run_is_shown_whole(ran):
    """A-106: who was asked by whom and why, turn by turn, with failures, costs and the report."""
    shown = ran("runs", "show", "last").out

    for line in (
        "  asked    desk.ai: money back",
        " events, hash chain intact",
        "  desk completed",
        "    risk (advisor) failed: ",
        "      turn 1: s/demo gave no answer: gone",
        "    turn 1: s/demo, 1000 tokens in, 10 out, $0.0010, ",
        "    billing (route) completed",
        "      editor (handoff) completed",
        "\n# Paid\n",
    ):
        assert line in shown


def test_a_changed_record_is_told(ran):
    database = sqlite3.connect(ran.folder / ".folkmoot" / "folkmoot.db")
    with database:
        database.execute(
            "UPDATE entry SET text = cast(replace(cast(text AS text), 's/demo', 's/domo') AS blob)"
        )
    database.close()

    shown = ran("runs", "show", "last")
    assert shown.code == 1
    assert "hash chain broken: entry " in shown.out
    assert "completed" in shown.out
    assert ran("runs", "show", "last", "--json").json["journal"]["intact"] is False


def test_a_broken_project_does_not_hide_what_ran(ran):
    (ran.folder / "desk.ai").write_text("---\nnonsense: 1\n---\n")

    assert ran("runs", "list").code == 0
    assert ran("runs", "show", "last").code == 0
    assert ran("runs", "resume", "last").out == "# Paid\n"


def test_the_sessions_are_a_tree(ran):
    """B-23: children stand below their parents, indented."""
    lines = ran("sessions", "list").out.splitlines()

    assert [line.split("  ")[0] for line in lines[1:]] == ["desk", "├─ risk", "└─ billing", ""]
    assert "   └─ editor" in lines[4]

    rows = ran("sessions", "list", "last", "--json").json
    assert [(row["agentId"], row["status"], row["cause"]) for row in rows] == [
        ("desk", "completed", None),
        ("risk", "failed", "advisor"),
        ("billing", "completed", "route"),
        ("editor", "completed", "handoff"),
    ]
    assert rows[3]["parentId"] == rows[2]["id"]
    assert rows[0]["parentId"] is None


def test_a_run_that_waits_because_of_a_call_in_doubt_tells_so_wherever_it_is_shown(folkmoot):
    folkmoot.write_with_tool("pay", PAY)
    process = folkmoot.started("run", "a.ai", "x")
    wait_for(process.stderr, "a calls t__pay")
    interrupted(process, signal.SIGKILL)

    for _ in range(2):
        resumed = folkmoot("runs", "resume", "last")
        assert (resumed.code, resumed.out) == (6, "")
        assert "a may or may not have done this: doubt_" in resumed.err
        assert "folkmoot inbox settle doubt_" in resumed.err

    shown = folkmoot("runs", "show", "last").out
    assert "waits    a may or may not have done this: doubt_" in shown
    assert "folkmoot inbox settle doubt_" in shown
    assert "\n  a waiting\n" in shown
    assert "\n    turn 1: t__pay(): may or may not have happened\n" in shown
    assert folkmoot("sessions", "list", "--json").json[0]["status"] == "waiting"

    assert folkmoot("runs", "cancel", "last").code == 0
    assert "t__pay(): may or may not have happened" in folkmoot("runs", "show", "last").out


def test_a_session_of_an_interrupted_run_is_not_shown_as_running(folkmoot):
    folkmoot.write({"a": "description: a"}, {"a": [FOREVER]})
    process = folkmoot.started("run", "a.ai", "x")
    wait_for(process.stderr, "a starts")
    interrupted(process, signal.SIGKILL)

    assert "\n  a interrupted\n" in folkmoot("runs", "show", "last").out


def test_an_agent_that_was_called_as_a_tool_has_the_cause_that_the_graph_names(folkmoot):
    ask = {"tool": "agent.clerk", "arguments": {"prompt": "p", "reason": "r"}}
    folkmoot.write(
        {"boss": "agents: [clerk.ai]", "clerk": "description: c"},
        {"boss": [{"calls": [ask]}, {"report": "fine"}], "clerk": ["found"]},
    )
    folkmoot("run", "boss.ai", "x", "-q")

    assert "agent clerk.ai" in folkmoot("graph").out
    assert folkmoot("sessions", "list").out.splitlines()[2].split()[1:4] == ["clerk", "completed", "agent"]
    assert folkmoot("sessions", "list", "--json").json[1]["cause"] == "sub"
    assert "clerk (agent) completed" in folkmoot("runs", "show", "last").out


def test_a_long_request_takes_one_short_line_of_the_list(folkmoot):
    folkmoot.write({"a": ""}, {"a": [{"report": "fine"}]})
    folkmoot("run", "a.ai", "word\n" * 1000, "-q")

    _, row = folkmoot("runs", "list").out.splitlines()
    assert len(row) < 300
    assert row.endswith("…")
