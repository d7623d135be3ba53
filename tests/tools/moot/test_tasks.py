"""Agents keep their tasks by eleven tools, in real runs."""

import json

from folkmoot import MemoryJournal
from folkmoot.coordination.record_store import Author
from folkmoot.domain.errand import own_work_session
from folkmoot.domain.records import TASK
from folkmoot.ports import Query, Version
from tests.desk import by_span

FILES = {
    "coder": "tools: [tasks]\nmaxTurns: 20",
    "tester": "tools: [tasks]",
    "boss": "role: lead\ntools: [tasks]",
}
ELEVEN = (
    "task_start task_update task_complete task_status task_list task_cancel"
    " task_approve task_block task_resume task_backlog_add task_pick_backlog"
).split()


def call(tool, **arguments):
    return {"tool": tool, "arguments": arguments}


def made_by(turn, number=1, run="run-1"):
    """The name of the task that a call makes."""
    return Author("coder", run, f"0/turn:{turn}/call:{number}").new_id(TASK.prefix, "")


def one_by_one(*calls):
    """A script that makes these calls, one a turn, and reports."""
    return {"coder": [*({"calls": [each]} for each in calls), "done"]}


async def results(at, script):
    """What the model read after each of its calls, and the played run."""
    played = await at(FILES, script).run("coder.ai")
    assert played.result.status == "completed", played.result.error
    ends = ("tool.finished", "tool.failed")
    return [draft.event.text for draft in played.drafts if draft.event.type in ends], played


async def given(at, *calls):
    """The results as JSON."""
    texts, _ = await results(at, one_by_one(*calls))
    return [json.loads(text) if text.startswith("{") else text for text in texts]


async def test_the_group_offers_exactly_the_eleven_tools(desk):
    """E-13, O-44."""
    _, played = await results(desk, {"coder": ["done"]})

    assert sorted(name for name in played.offered("coder") if name != "agent__final_report") == sorted(ELEVEN)


async def test_a_task_is_started_worked_on_and_completed(desk):
    """E-14, E-15, E-16."""
    start, step, refused, forced = await given(
        desk,
        call("task_start", description="Mend it", steps=["look", "mend"]),
        call("task_update", action="complete_step", step_id="s1", progress="seen"),
        call("task_complete", summary="s"),
        call("task_complete", summary="s", force_complete=True),
    )

    assert start == {
        "success": True,
        "task_id": made_by(1),
        "agent_id": "coder",
        "work_session_id": own_work_session("run-1"),
        "status": "in_progress",
    }
    assert [step["status"] for step in step["steps"]] == ["done", "in_progress"]
    assert (refused["success"], refused["blocked_by"]) == (False, "stop_guard")
    assert [step["id"] for step in refused["remaining"]] == ["s2"]
    assert forced["status"] == "completed"


async def test_the_status_of_one_task_counts_its_steps_and_that_of_none_says_so(desk):
    """E-17."""
    _, one, none, summary = await given(
        desk,
        call("task_start", description="x", steps=["a", "b"], priority="high"),
        call("task_status", task_id=made_by(1)),
        call("task_status", task_id="task_unknown"),
        call("task_status"),
    )

    assert one["step_counts"] == {"total": 2, "done": 0, "in_progress": 1, "pending": 1, "skipped": 0}
    assert (one["found"], one["task"]["priority"], one["task"]["agentId"]) == (True, "high", "coder")
    assert none == {"found": False, "task_id": "task_unknown"}
    assert (summary["total"], summary["by_status"]) == (1, {"in_progress": 1})
    assert summary["current"]["id"] == made_by(1)


async def test_the_backlog_is_added_to_listed_and_picked_from(desk):
    """E-18, E-23, E-24."""
    low, _, asked, own, everybody, picked, again = await given(
        desk,
        call("task_backlog_add", description="later", priority="low"),
        call("task_backlog_add", description="soon", priority="urgent", due_date="2026-02-01"),
        call("task_backlog_add", description="test it", assignee="tester"),
        call("task_list", status="backlog"),
        call("task_list", scope="all"),
        call("task_pick_backlog"),
        call("task_pick_backlog", task_id=made_by(1)),
    )

    assert (low["status"], low["source"]) == ("backlog", "self")
    assert (asked["agent_id"], asked["source"]) == ("tester", "request:coder")
    assert [task["description"] for task in own["tasks"]] == ["soon", "later"]
    assert (everybody["count"], everybody["tasks"][1]["agentId"]) == (3, "tester")
    assert (picked["task_id"], picked["description"]) == (made_by(2), "soon")
    assert f"coder has {made_by(2)}, which is in_progress; complete or cancel it" in again


async def test_a_run_cut_after_any_event_makes_no_second_task_and_no_second_change(desk):
    """C3: whether the process died before a task was written or after it, the journal comes out the same."""
    script = one_by_one(
        call("task_start", description="x", steps=["a", "b"]),
        call("task_update", action="complete_step", step_id="s1"),
        call("task_complete", summary="s", force_complete=True),
        call("task_backlog_add", description="one"),
        call("task_backlog_add", description="two"),
        call("task_pick_backlog"),
    )
    at = desk(FILES, script)
    whole = await at.run("coder.ai")
    tasks = await _streams(at.journal)

    for cut in range(1, len(whole.drafts)):
        begun = [draft.event.turn for draft in whole.drafts[:cut] if draft.event.type == "tool.started"]
        dying = whole.drafts[cut - 1].event.type == "tool.started"
        for done in {tuple(begun), tuple(begun[:-1])} if dying else {tuple(begun)}:
            again = desk(FILES, script)
            journal = MemoryJournal(again.clock.monotonic)
            for stream, drafts in tasks.items():
                if written := [draft for draft in drafts if _turn(draft) in done]:
                    await journal.append(stream, Version(0), written)
            played = await again.continued(whole.drafts[:cut], journal=journal)
            assert by_span(played.drafts) == by_span(whole.drafts)
            assert await _streams(journal) == tasks


async def _streams(journal):
    streams = {}
    async for entry in journal.read(Query(prefix=TASK.prefix)):
        streams.setdefault(entry.stream, []).append(entry.draft)
    return streams


def _turn(draft):
    return int(draft.span.split("turn:")[1].split("/")[0])
