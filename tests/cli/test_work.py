"""`folkmoot work`: work sessions as people at a terminal meet them."""

import json
import signal
import subprocess
import sys

import pytest

from tests.cli.conftest import ended, wait_for

AGENTS = {
    "ann": "role: lead",
    "bob": "role: worker\ncapabilities: [python]\ntools: [files.read]",
    "rex": "role: reviewer",
}
SCRIPT = {name: [{"report": "fine"}] * 5 for name in AGENTS}

DOOMED = """
import asyncio, os, signal
from folkmoot import Folkmoot
from folkmoot.coordination.work_sessions import becoming
from folkmoot.coordination.work_teams import Seat
from folkmoot.domain.work_session_events import WorkSessionOpened

async def main():
    async with Folkmoot.open(".") as moot:
        desk = moot.moot.work_sessions
        work = (await desk.open(WorkSessionOpened("Ship it"), chance="a die")).id
        await desk.form(work, [Seat("lead"), Seat("worker")])
        await desk.add_artifact(work, "log", "log", b"line")
        await desk.change(work, becoming("Planning"))
        await desk.snapshot(work, "plan_committed", "plan_1")
        await desk.snapshot(work, "step_completed", "plan_1", "s1")
        print(work, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


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


def test_a_team_has_members_with_roles_and_policies(at):
    """D-2, D-36, U-3: the team as data."""
    work = opened(at)

    team = at(
        *("work", "team", work, "lead=ann", "worker", "--may", "worker=execute,vote"),
        *("--tools", "worker=files.*", "--json"),
    ).json["team"]

    assert team["id"] == f"team_{work}"
    assert team["members"] == [
        {"agent": "ann", "role": "lead", "policy": {}},
        {
            "agent": "bob",
            "role": "worker",
            "capabilities": ["python"],
            "policy": {"actions": ["execute", "vote"], "tools": ["files.*"]},
        },
    ]


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


def test_agents_are_listed_with_type_capabilities_tools_and_status(at):
    """D-3: the agent as data."""
    bob = at("agents", "list", "--json").json[1]

    assert (bob["id"], bob["type"], bob["capabilities"], bob["tools"], bob["status"]) == (
        *("bob", "worker", ["python"], ["files.read"], "ready"),
    )


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


def test_the_list_is_filtered_by_status_category_and_role(at):
    """E-10: an unknown category is refused."""
    at("run", "bob", "deploy the server", "-q")
    opened(at, "--label", "pricing strategy")

    def titles(*more):
        return [row["title"] for row in at("work", "list", "--json", *more).json]

    assert titles("--status", "quiet") == ["deploy the server"]
    assert titles("--category", "biz_strategy") == ["pricing strategy"]
    assert titles("--role", "orchestration.task") == ["pricing strategy"]
    assert titles("--role", "conversation.main") == []
    for option in ("--status", "--category", "--role"):
        refused = at("work", "list", option, "cooking")
        assert (refused.code, "cooking" in refused.err or "COOKING" in refused.err) == (2, True)


def test_a_category_that_a_person_gave_survives_what_is_said_later(at):
    """E-12: categorySource is manual, in every later process."""
    at("run", "bob", "deploy the server", "-q")
    given = at("work", "category", "last", "legal_compliance")
    at("run", "bob", "deploy the server again", "--work-session", "last", "-q")

    row = at("work", "list", "--json").json[0]

    assert given.code == 0
    assert (row["category"], row["categorySource"], row["categoryLabel"]) == (
        *("legal_compliance", "manual", "legal/compliance"),
    )
    assert at("work", "category", "last", "cooking").code == 2


def test_a_paused_work_session_takes_no_run_until_it_goes_on(at):
    """D-10: control from the terminal."""
    work = opened(at)
    paused = at("work", "pause", work[:12], "--reason", "the budget is checked")
    refused = at("run", "bob", "hello", "--work-session", work)
    resumed = at("work", "resume", work, "--json").json

    assert "its runs ask no model until" in paused.err
    assert (refused.code, "is paused (the budget is checked)" in refused.err) == (2, True)
    assert resumed == {"id": work, "status": "resumed", "runs": []}
    assert at("run", "bob", "hello", "--work-session", work, "-q").code == 0


def test_a_cancelled_work_session_is_over(at):
    """D-10, D-12: stop."""
    work = opened(at)
    at("work", "cancel", work, "--reason", "no longer wanted")

    refused = at("run", "bob", "hello", "--work-session", work)

    assert at("work", "show", work, "--json").json["history"][-1]["reason"] == "no longer wanted"
    assert f'is Cancelled; open another: folkmoot work open "…" --previous {work}' in refused.err
    for command in ("resume", "pause"):
        assert f"work session {work} is Cancelled" in at("work", command, work).err
    again = opened(at, "--previous", work)
    assert at("work", "show", again, "--json").json["previousWorkSessionId"] == work


def test_a_work_session_that_does_not_exist_is_named(at):
    opened(at)

    for command in (["work", "show", "ws_nope"], ["run", "bob", "hello", "--work-session", "ws_nope"]):
        refused = at(*command)
        assert (refused.code, "there is no work session 'ws_nope'" in refused.err) == (2, True)


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


def test_everything_of_a_work_session_survives_a_killed_process(at):
    """D-27, D-13: team, artifacts and snapshots are there after SIGKILL."""
    (at.folder / "doomed.py").write_text(DOOMED)
    killed = subprocess.run([sys.executable, "doomed.py"], cwd=at.folder, stdout=subprocess.PIPE, text=True)

    shown = at("work", "show", killed.stdout.strip(), "--json").json

    assert killed.returncode == -signal.SIGKILL
    assert [member["agent"] for member in shown["team"]["members"]] == ["ann", "bob"]
    assert [each["reason"] for each in shown["snapshots"]] == ["plan_committed", "step_completed"]
    assert [each["title"] for each in shown["artifacts"]] == ["log"]
    assert shown["state"] == "Planning"


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
