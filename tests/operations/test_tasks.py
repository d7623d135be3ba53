"""Every operation on tasks does the same, refuses with the same code and records its actor, whatever the interface."""

import pytest

from folkmoot.coordination.record_store import Author
from folkmoot.coordination.tasks import NewTask
from folkmoot.domain.task import Blocking
from folkmoot.operations import tasks
from folkmoot.operations.task_reading import ListTasks, ShowTask
from folkmoot.operations.tasks import (
    AddTask,
    ApproveTask,
    BlockTask,
    CancelTask,
    CompleteTask,
    FailTask,
    PickTask,
    ResumeTask,
    StartTask,
    UpdateTask,
)
from tests.operations.interfaces import Interfaces, assert_all_tried

FILES = {"coder": "tools: [tasks]", "tester": "", "boss": "role: lead"}
LONG = "x" * 3_000


async def prepared(project):
    """One task of each kind; their ids, by kind."""
    desk = project.moot.tasks.of("coder", Author("eve"))
    working = await desk.start(NewTask("Mend it", steps=("look", "mend")), "working")
    easy = await desk.start(NewTask("Say hello"), "easy")
    waiting = await desk.start(NewTask("Deploy", requires_approval=True), "waiting")
    blocked = await desk.start(NewTask("Ask"), "blocked")
    await desk.block(Blocking("no key", ("boss",)), blocked.id)
    over = await desk.start(NewTask("Over"), "over")
    await desk.complete(over.id)
    free = project.moot.tasks.of("tester", Author("eve"))
    later = await free.add(NewTask("Later"), "later")
    made = {
        "working": working,
        "easy": easy,
        "waiting": waiting,
        "blocked": blocked,
        "over": over,
        "later": later,
    }
    return {name: task.id for name, task in made.items()}


def of(kind, length=None):
    """The id of a prepared task, or its beginning."""
    return lambda known: known[kind][:length]


WORKING, EASY, OVER = {"task": of("working")}, {"task": of("easy")}, {"task": of("over")}
NOBODY = {"task": "task_nothing"}
NEW = {"description": "Paint", "agent": "coder"}

CASES = [
    # operation, what is given, the code of its refusal
    (ListTasks, {}, ""),
    (ListTasks, {"agent": "coder", "status": "blocked"}, ""),
    (ListTasks, {"all": True}, ""),
    (ListTasks, {"status": "bogus"}, "bad_value"),
    (ListTasks, {"agent": "nobody"}, "agent_not_found"),
    (ShowTask, WORKING, ""),
    (ShowTask, {"task": of("over", 12)}, ""),
    (ShowTask, {"task": "last"}, ""),
    (ShowTask, NOBODY, "task_not_found"),
    (ShowTask, {"task": "task_"}, "task_not_found"),
    (StartTask, NEW, ""),
    (StartTask, {**NEW, "agent": "coder.ai", "description": f" {LONG} "}, ""),
    (StartTask, {**NEW, "steps": ["look", "paint"], "priority": "high", "context": "\u00fc"}, ""),
    (StartTask, {**NEW, "requires_approval": True, "simple": True}, ""),
    (StartTask, {**NEW, "priority": "huge"}, "bad_value"),
    (StartTask, {**NEW, "description": " "}, "bad_value"),
    (StartTask, {**NEW, "steps": ["look", " "]}, "bad_value"),
    (AddTask, {**NEW, "due_date": "2030-02-01", "estimated_effort": "small"}, ""),
    (AddTask, {**NEW, "depends_on": [of("later")]}, ""),
    (AddTask, {**NEW, "steps": ["look"], "start_date": "2030-02-01T10:00:00+02:00"}, ""),
    (AddTask, {**NEW, "estimated_effort": "huge"}, "bad_value"),
    (AddTask, {**NEW, "due_date": "soon"}, "bad_value"),
    (AddTask, {**NEW, "depends_on": ["task_nothing"]}, "bad_value"),
    (AddTask, {**NEW, "priority": "huge"}, "bad_value"),
    (PickTask, OVER, "wrong_use"),
    (PickTask, NOBODY, "task_not_found"),
    (UpdateTask, {**WORKING, "progress": "seen"}, ""),
    (UpdateTask, {**WORKING, "action": "complete_step", "step_id": "s1", "progress": "seen"}, ""),
    (UpdateTask, {**WORKING, "action": "set_steps", "steps": ["a", "b"]}, ""),
    (UpdateTask, {**WORKING, "action": "reorder_steps", "steps_order": ["s2"]}, ""),
    (UpdateTask, {**WORKING, "action": "complete_step", "step_id": "s9"}, "step_not_found"),
    (UpdateTask, {**WORKING, "action": "complete_step"}, "bad_value"),
    (UpdateTask, {**WORKING, "action": "dance"}, "bad_value"),
    (UpdateTask, WORKING, "bad_value"),
    (UpdateTask, {**OVER, "progress": "seen"}, "wrong_use"),
    (UpdateTask, {**NOBODY, "progress": "seen"}, "task_not_found"),
    (CompleteTask, {**EASY, "summary": "fine"}, ""),
    (CompleteTask, {**WORKING, "force": True}, ""),
    (CompleteTask, WORKING, "steps_open"),
    (CompleteTask, OVER, "wrong_use"),
    (CancelTask, {**EASY, "reason": "enough"}, ""),
    (CancelTask, OVER, "wrong_use"),
    (CancelTask, NOBODY, "task_not_found"),
    (FailTask, {**EASY, "error": "broken"}, ""),
    (FailTask, {**EASY, "error": " "}, "bad_value"),
    (FailTask, {**OVER, "error": "broken"}, "wrong_use"),
    (ApproveTask, {"task": of("waiting")}, ""),
    (ApproveTask, EASY, "wrong_use"),
    (BlockTask, {**EASY, "reason": "key", "unblock_by": ["boss", "tester"]}, ""),
    (BlockTask, {**EASY, "reason": " ", "unblock_by": ["boss"]}, "bad_value"),
    (BlockTask, {**EASY, "reason": "key", "unblock_by": ["nobody"]}, "agent_not_found"),
    (BlockTask, {**EASY, "reason": "key", "unblock_by": ["coder"]}, "bad_value"),
    (BlockTask, {"task": of("blocked"), "reason": "key", "unblock_by": ["boss"]}, "wrong_use"),
    (ResumeTask, {"task": of("blocked", 12)}, ""),
    (ResumeTask, EASY, "wrong_use"),
]  # fmt: skip


def form_of(operation, given):
    return f"/tasks/{given['task']}/{operation.command}" if operation.subject else "/tasks"


@pytest.mark.parametrize(("operation", "values", "code"), CASES)
async def test_an_operation_is_the_same_in_every_interface(tmp_path, operation, values, code):
    interfaces = Interfaces(tmp_path, "tasks", FILES, prepared, form_of)

    await interfaces.agree(operation, values, code, agent="coder")


def test_every_operation_of_people_is_tried_with_something_good_and_something_bad():
    assert_all_tried(tasks.OPERATIONS, CASES)
