"""`folkmoot events` and `folkmoot projections` as their users meet them."""

import pytest

AGENTS = {"a": "agents: [b.ai]", "b": "description: b"}
SCRIPT = {
    "a": [{"calls": [{"tool": "agent__b", "arguments": {"prompt": "p", "reason": "r"}}]}, {"report": "fine"}],
    "b": [{"report": "done"}],
}


@pytest.fixture
def ran(folkmoot):
    folkmoot.write(AGENTS, SCRIPT)
    assert folkmoot("run", "a.ai", "x", "-q").code == 0
    return folkmoot


def test_events_are_found_by_agent_type_and_role(ran):
    """D-28, E-1: filters on each."""
    of_b = ran("events", "--agent", "b", "--json").json
    started = ran("events", "--type", "run.*", "--json").json
    delegated = ran("events", "--role", "delegation", "--type", "sub_agent.*", "--json").json

    assert {event["agentId"] for event in of_b} == {"b"}
    assert [event["type"] for event in started] == ["run.started", "run.completed"]
    assert {event["role"] for event in delegated} == {"delegation.subagent"}
    assert delegated


def test_one_work_session_lists_everything_of_its_run(ran):
    """E-9: the work session is the grouping root."""
    everything = ran("events", "--json", "--limit", "1000").json
    together = everything[0]["workSessionId"]

    assert together.startswith("ws_")
    assert ran("events", "--work-session", together, "--json", "--limit", "1000").json == everything


def test_pages_go_back_in_time(ran):
    everything = ran("events", "--json", "--limit", "1000").json
    last = ran("events", "--json", "--limit", "3").json
    earlier = ran("events", "--json", "--limit", "3", "--before", str(last[0]["seq"])).json

    assert [*earlier, *last] == everything[-6:]


def test_time_may_be_a_moment_or_how_long_ago(ran):
    assert ran("events", "--since", "1h", "--json").json
    assert ran("events", "--until", "2020-01-01", "--json").json == []
    assert ran("events", "--since", "2020-01-01T00:00+02:00", "--json").json


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("--role", "nobody", "there are conversation.main"), ("--since", "yesterday", "is no moment")],
)
def test_what_cannot_be_looked_for_is_told(ran, option, value, said):
    done = ran("events", option, value)

    assert done.code == 2
    assert said in done.err


def test_people_read_one_line_each(ran):
    out = ran("events", "--type", "run.started").out

    assert out.splitlines()[0].split() == ["SEQ", "TIME", "TYPE", "AGENT", "IN", "WHAT"]
    assert "a is asked: x" in out


def test_files_are_brought_up_to_the_journal_by_one_command(ran):
    """O-10."""
    stray = ran.folder / ".folkmoot" / "tasks" / "task_0.md"
    stray.parent.mkdir(exist_ok=True)
    stray.write_text("of no record")

    assert ran("projections", "--check").code == 1
    assert "tasks/task_0.md" in ran("projections").out
    assert ran("projections", "--check", "--json").json == {"changed": [], "gone": []}
    assert not stray.exists()


def test_nothing_found_is_said_as_in_every_other_list(ran):
    done = ran("events", "--type", "tsak.*")

    assert (done.code, done.out, done.err) == (0, "", "there are no such events\n")
