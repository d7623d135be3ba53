"""What outlives a run, as its users meet it: one collaboration, seen from every side."""

import json
import shutil
from collections import defaultdict

import msgspec
import pytest

from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.naming import GROUPS

GOAL = "Add a health check to the shop"
SINK = "\nsinks: {file: {kind: ndjson, events: ['*'], path: all.ndjson}}\n"
SEED_SPELLINGS = ("plan", "steps", "step", "arguments", "agent_role", "tool_calls")


@pytest.fixture
def done(shop):
    assert shop("collaborate", GOAL, "--quiet").code == 0
    return shop


def test_each_role_shows_the_events_that_it_is_for(done):
    """E-1, E-4, E-9: tasks, plans and decisions are one role, and one work session holds all of them."""
    by_role = defaultdict(set)
    for event in done("events", "--limit", "5000", "--json").json:
        by_role[event["role"]].add(event["type"].partition(".")[0])

    assert {"task", "plan", "step", "decision", "work_session", "snapshot"} <= by_role["orchestration.task"]
    assert by_role["conversation.main"] == set()
    assert {"task", "plan", "decision"} & by_role["system.observability"] == set()


def test_every_surface_reads_the_same_journal(done):
    """E-49: what is exported, found and sent on is the same, event by event."""
    settings = done.folder / "folkmoot.yaml"
    settings.write_text(settings.read_text() + SINK)
    assert done("sinks", "run", "--once").code == 0

    exported = [json.loads(line)["id"] for line in done("log", "export").out.splitlines()]
    found = [event["id"] for event in done("events", "--limit", "5000", "--json").json]
    sent = [json.loads(line)["id"] for line in (done.folder / "all.ndjson").read_text().splitlines()]

    assert found == exported
    assert sent == [id for id in exported if id in set(sent)]
    assert len(sent) >= len(exported) - 5, "but for what the sink says of itself"


def test_the_tasks_of_two_agents_lie_in_two_folders_and_all_files_are_made_anew_byte_for_byte(done):
    """E-30, O-10: projections of the journal."""
    folder = done.folder / ".folkmoot"
    kept = ("tasks", "plans", "decisions")
    before = {
        path: path.read_bytes() for name in kept for path in (folder / name).rglob("*") if path.is_file()
    }
    for name in kept:
        shutil.rmtree(folder / name)
    assert done("projections").code == 0

    assert {path.name for path in (folder / "tasks").iterdir()} == {"coder", "operator"}
    assert {path: path.read_bytes() for path in before} == before
    assert len(before) >= 5


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_of_tools_is_exactly_the_tools_that_its_name_promises(folkmoot, group):
    """O-44, E-13: by groups named in `tools:`."""
    folkmoot.write({"a": f"tools: [{group}]", "b": "description: b"}, {"a": [{"report": "fine"}]})

    assert folkmoot("check").code == 0
    explained = folkmoot("explain", "a", "--json").json
    offered = {tool["tool"] for tool in explained["tools"]} if "tools" in explained else set()

    assert set(GROUPS[group]) <= offered


def test_events_are_spelled_in_camel_case_but_for_what_a_seed_spells_otherwise():
    """O-13."""
    snaky = {
        f"{type}.{field.encode_name}"
        for type, event in EVENTS.items()
        for field in msgspec.structs.fields(event)
        if "_" in field.encode_name and field.encode_name not in SEED_SPELLINGS
    }

    assert snaky == set()


def test_whatever_a_person_changes_at_the_terminal_is_in_the_files_at_once(folkmoot):
    """O-10: written by themselves."""
    folkmoot.write({"a": "description: a"}, {})

    started = folkmoot("tasks", "start", "Sort the books", "--agent", "a", "--json").json

    files = [path.name for path in (folkmoot.folder / ".folkmoot" / "tasks" / "a").iterdir()]
    assert sorted(files) == ["CURRENT_TASK.md", f"{started['id']}.md"]
    assert folkmoot("projections", "--check").code == 0
