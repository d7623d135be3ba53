"""`folkmoot work`: work sessions as people at a terminal meet them."""

import json
import signal

import pytest

from tests.cli.conftest import ended, wait_for

AGENTS = {
    "ann": "role: lead",
    "bob": "role: worker\ncapabilities: [python]\ntools: [files.read]",
    "rex": "role: reviewer",
}
SCRIPT = {name: [{"report": "fine"}] * 5 for name in AGENTS}


@pytest.fixture
def at(folkmoot):
    folkmoot.write(AGENTS, SCRIPT)
    return folkmoot


def opened(at, *more):
    return at("work", "open", "Ship the parser", *more).out.strip()


def test_a_work_session_is_walked_through_all_its_states(at):
    """D-1, D-12, D-13, D-20, D-27: from the terminal, each command a process of its own to the journal."""
    work = opened(at, "--constraint", "by Friday", "--label", "The parser")
    formed = at("work", "team", work, "lead", "worker:python", "reviewer", "--name", "parsers")
    for state in ("planning", "Executing", "Reviewing", "Executing", "Reviewing"):
        assert at("work", "state", work, state).code == 0
    done = at("work", "complete", work, "--summary", "It ships.", "--decision", "decision_1")
    shown = at("work", "show", work, "--json").json

    assert formed.err == f"work session {work} has its team: ann (lead), bob (worker), rex (reviewer)\n"
    assert done.err == f"work session {work} is Completed\n"
    assert (shown["goal"], shown["constraints"], shown["summary"]) == (
        "Ship the parser",
        ["by Friday"],
        "It ships.",
    )
    assert (shown["decisions"], shown["artifacts"], shown["snapshots"]) == (["decision_1"], [], [])
    assert [change["state"] for change in shown["history"]] == [
        *(
            "Initialized",
            "TeamFormed",
            "Planning",
            "Executing",
            "Reviewing",
            "Executing",
            "Reviewing",
            "Completed",
        ),
    ]
    assert shown["team"]["name"] == "parsers"
    assert shown["timeline"][1]["text"].endswith("forms the team: ann (lead), bob (worker), rex (reviewer)")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cook"], "there is no role 'cook'; there are lead, worker"),
        (["worker", "--may", "lead=vote"], "no seat is 'lead'; the seats are worker"),
        (["worker", "--may", "worker=cook"], "there is no action 'cook'; there are plan, vote"),
        (["worker", "--tools", "files"], "--tools takes SEAT=WORD,WORD"),
    ],
)
def test_what_is_wrong_with_a_team_is_said(at, arguments, said):
    refused = at("work", "team", opened(at), *arguments)

    assert refused.code == 2
    assert said in refused.err


def test_runs_join_a_work_session_and_all_its_events_are_one_list(at):
    """E-9, E-77, E-78, E-84: plain runs have one of their own; the list says in one line what is worked on."""
    work = opened(at)
    at("run", "bob", "Write it.", "--work-session", work, "--label", "The new parser", "-q")
    at("run", "rex", "[Goal] Review the release\nwith care", "-q")

    rows = at("work", "list", "--json").json
    table = at("work", "list").out

    assert [row["title"] for row in rows] == ["Review the release", "The new parser"]
    assert (rows[1]["id"], rows[1]["agents"], rows[1]["status"]) == (work, ["bob"], "QUIET")
    assert rows[1]["subtitle"].startswith("bob · ")
    assert rows[1]["subtitle"].endswith("UTC · just now")
    assert "bob · " in table
    assert "Work Session" not in table
    assert at("sessions", "work").out == table


def test_what_came_of_the_work_is_kept_with_it_and_printed(at):
    """D-6, D-20: artifacts by kind, their content too; an unknown kind is refused."""
    work = opened(at)
    at("work", "add", work, "code_diff", "-", "--title", "The parser", stdin=b"+ parse()\n")
    (at.folder / "report.txt").write_text("12 passed")
    at("work", "add", work, "test_result", "report.txt")

    kept = at("work", "show", work, "--json").json["artifacts"]

    assert [(each["kind"], each["title"]) for each in kept] == [
        ("code_diff", "The parser"),
        ("test_result", "report.txt"),
    ]
    assert at("work", "artifact", work, "The parser").out == "+ parse()\n"
    assert at("work", "artifact", work, kept[1]["artifact"][:8]).out == "12 passed"
    for wrong in (["add", work, "poem", "-"], ["add", work, "doc", "gone.txt"], ["artifact", work, "gone"]):
        assert at("work", *wrong).code == 2


def test_the_timeline_is_told_in_lines_and_as_json(at):
    """D-30: who did what, in order of time."""
    opened(at)
    at("run", "bob", "Write it.", "--work-session", "last", "-q")

    lines = at("work", "timeline", "last").out.splitlines()[1:]
    entries = at("work", "timeline", "last", "--json").json

    assert [line.split("  ")[-1].strip() for line in lines] == [entry["text"] for entry in entries]
    assert [entry["text"] for entry in entries][1:] == ["bob is asked: Write it.", "bob has answered"]
    assert [entry["at"] for entry in entries] == sorted(entry["at"] for entry in entries)


def test_a_live_timeline_tells_what_another_process_does(at):
    """D-30: without polling by the user."""
    opened(at)
    watching = at.started("work", "timeline", "last", "--live", "--json")
    try:
        wait_for(watching.stdout, "work_session.opened")
        at("run", "bob", "Write it.", "--work-session", "last", "-q")

        told = wait_for(watching.stdout, "run.completed")
    finally:
        watching.send_signal(signal.SIGINT)
    assert json.loads(told.splitlines()[0])["text"] == "bob is asked: Write it."
    assert ended(watching).code == 0


def test_a_live_list_tells_each_row_that_changed(at):
    opened(at)
    watching = at.started("work", "list", "--live")
    try:
        wait_for(watching.stdout, "Ship the parser")
        at("work", "label", "last", "The parser")

        assert "ACTIVE" in wait_for(watching.stdout, "The parser")
    finally:
        watching.send_signal(signal.SIGINT)
    assert ended(watching).code == 0
