"""What a task is after each event of its stream, those of the watch included."""

import pytest

from folkmoot.coordination.task_lists import document
from folkmoot.domain import records
from folkmoot.domain import task as task_module
from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.entry import Draft, role
from folkmoot.domain.task import (
    Backlog,
    BacklogAutoPicked,
    Blocking,
    ContinuationBackoff,
    ContinuationSent,
    Interrupted,
    ResumeReminderSent,
    Task,
    TaskStep,
    UnblockFailed,
    UnblockRequested,
    ZombieAbandoned,
)
from folkmoot.errors import JournalDamaged

BEGAN, LATER = "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"
TASK = Task(
    "task_1", "coder", "x", "in_progress", BEGAN, "coder", work_session_id="ws_1", last_activity=BEGAN
)
BLOCKED = Blocking("no key", ("boss", "tester"))


def after(event, status="in_progress", **more):
    begun = Task(**{**_fields(TASK), "status": status, **more})
    return records.TASK.evolve(begun, Draft(LATER, event))


def _fields(task):
    return {name: getattr(task, name) for name in task.__struct_fields__}


def test_all_events_of_tasks_and_of_the_watch_have_the_names_and_the_role_that_others_rely_on():
    """E-4, E-46."""
    names = (
        "task.started task.updated task.completed task.cancelled task.approved task.blocked task.resumed"
        " task.backlog_added task.backlog_picked continuation.sent continuation.backoff unblock.requested"
        " unblock.failed resume_reminder.sent zombie.abandoned backlog.auto_picked"
    ).split()
    declared = {type for type, event in EVENTS.items() if event.__module__ == task_module.__name__}

    assert declared == {*names, "task.failed", "zombie.reported"}
    samples = (
        ContinuationSent("coder"),
        ZombieAbandoned("interrupted", BEGAN),
        task_module.TaskResumed("in_progress"),
    )
    assert {role(Draft(LATER, event)) for event in samples} == {"orchestration.task"}


def test_a_zombie_is_interrupted_with_that_outcome():
    """E-28, E-41, O-12."""
    task = after(ZombieAbandoned("interrupted", BEGAN))

    assert (task.status, task.ended_at) == ("interrupted", LATER)
    assert task.outcome == Interrupted(f"no activity since {BEGAN}")
    assert document(task)["outcome"] == {"kind": "interrupted", "reason": f"no activity since {BEGAN}"}


def test_a_zombie_that_goes_back_to_the_backlog_is_counted():
    task = after(ZombieAbandoned("backlog", BEGAN), backlog=Backlog(reassign_count=1))

    assert (task.status, task.backlog.reassign_count, task.outcome) == ("backlog", 2, None)


def test_what_the_watch_does_is_no_activity_of_the_agent():
    """E-37: otherwise a task that is only ever reminded of would never be a zombie."""
    sent = after(ContinuationSent("coder"))
    reminded = after(ResumeReminderSent("coder"), "blocked", blocking=BLOCKED)
    left = after(ContinuationBackoff("coder", "timeout", 1, LATER))

    assert (sent.last_continuation_at, sent.last_activity) == (LATER, BEGAN)
    assert (reminded.last_reminder_at, reminded.last_activity) == (LATER, BEGAN)
    assert left == TASK


@pytest.mark.parametrize(
    ("event", "blocking"),
    [
        (
            UnblockRequested("tester", 1, 2),
            Blocking("no key", ("boss", "tester"), "", 2, 1, LATER, "requesting"),
        ),
        (
            UnblockRequested("boss", 0, 3, escalated=True),
            Blocking("no key", ("boss", "tester"), "", 3, 0, LATER, "escalated"),
        ),
        (
            UnblockFailed("no answer", failures=2),
            Blocking("no key", ("boss", "tester"), unblock_request_failures=2),
        ),
        (
            UnblockFailed("denied", failures=3, final=True),
            Blocking("no key", ("boss", "tester"), escalation_state="failed", unblock_request_failures=3),
        ),
    ],
)
def test_each_request_to_unblock_is_counted(event, blocking):
    """E-40, 5.1."""
    assert after(event, "blocked", blocking=BLOCKED).blocking == blocking
    assert after(event) == TASK, "it was resumed in between"


def test_a_task_that_is_given_to_its_agent_is_worked_on_from_then():
    """5.1: an agent without an active task is given the next of its backlog."""
    begun = (TaskStep("s1", "a", 1, "in_progress"),)
    task = after(BacklogAutoPicked("in_progress", "coder", begun, "ws_2"), "backlog")

    assert (task.status, task.steps, task.last_activity) == ("in_progress", begun, LATER)
    assert (task.work_session_id, task.previous_work_session_id) == ("ws_2", "ws_1")


def test_no_task_begins_in_the_middle():
    with pytest.raises(JournalDamaged, match=r"cannot begin with a task\.resumed"):
        records.TASK.evolve(None, Draft(LATER, task_module.TaskResumed("in_progress")))
