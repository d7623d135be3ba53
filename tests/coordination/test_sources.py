"""What outlives a run carries what was read by whoever wrote it."""

import pytest
from msgspec.structs import replace

from folkmoot.coordination.record_store import Author
from tests.orchestration.test_gate import FETCH, Disk, save

PLAN = {"title": "do it", "steps": ["save a.txt"]}
RECORDS = {
    "memory": (("memory_note", {"text": "save a.txt"}), ("memory_read", {"agent": "ann"})),
    "a task": (
        ("task_backlog_add", {"description": "save a.txt", "assignee": "bob"}),
        ("task_pick_backlog", {}),
    ),
    "a list of tasks": (
        ("task_backlog_add", {"description": "save a.txt"}),
        ("task_list", {"scope": "all"}),
    ),
    "a plan": (("plan_submit", PLAN), ("plan_status", {})),
}
FILES = {
    "ann": "tools: [fetch, memory, tasks, plans, decisions]\nmemory: {readers: [bob]}",
    "bob": "tools: [memory, tasks, plans, decisions, save]",
}


def call(name, arguments):
    return {"calls": [{"tool": name, "arguments": arguments}]}


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("kind", RECORDS)
async def test_a_record_is_untrusted_exactly_if_its_writer_had_read_untrusted_text(desk, kind, read):
    """K-6: also in another run, of another agent."""
    writing, reading = RECORDS[kind]
    disk = Disk()
    script = {
        "ann": [*([{"calls": [FETCH]}] if read else []), call(*writing), "noted"],
        "bob": [call(*reading), {"calls": [save()]}, "ok"],
    }
    at = desk(FILES, script, tools=disk.tools)
    async with at.open() as moot:
        assert (await moot.run("ann", "note it")).success
        at.identity = replace(at.identity, run="run-2")
        second = await moot.run("bob", "go on")

    assert second.status == ("waiting" if read else "completed")
    assert disk.saved == ([] if read else ["a.txt"])
    if read:
        (item,) = second.inbox
        assert item.why == "the session has read what fetch gave ann in turn 1"


@pytest.mark.parametrize("read", [False, True])
async def test_a_decision_is_untrusted_exactly_if_who_proposed_it_had_read_untrusted_text(desk, read):
    """K-6: whoever votes on it reads its topic and its options."""
    turn = 2 if read else 1
    decision = Author("ann", "run-1", f"0/turn:{turn}/call:1").new_id("decision_", "")
    proposal = {
        "topic": "save a.txt?",
        "options": [{"id": "yes"}, {"id": "no"}],
        "participants": [{"name": "bob"}],
    }
    disk = Disk()
    script = {
        "ann": [*([{"calls": [FETCH]}] if read else []), call("decision_propose", proposal), "proposed"],
        "bob": [call("decision_vote", {"decision": decision, "option": "yes"}), {"calls": [save()]}, "ok"],
    }
    at = desk(FILES, script, tools=disk.tools)
    async with at.open() as moot:
        assert (await moot.run("ann", "propose it")).success
        at.identity = replace(at.identity, run="run-2")
        played = await at.played(await moot.run("bob", "vote"))

    assert played.events("tool.finished")[0].tool == "decision_vote"
    assert disk.saved == ([] if read else ["a.txt"])
