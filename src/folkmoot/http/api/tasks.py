"""Tasks: what agents have to do. People see it all, and act for any agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from folkmoot.coordination.task.desk import AgentTasks
from folkmoot.coordination.task.document import document, step_counts
from folkmoot.coordination.task.opening import NewTask
from folkmoot.coordination.task.picking import by_priority
from folkmoot.coordination.task.stepping import Stepping
from folkmoot.domain.task import Blocking, Effort, Priority, Task, TaskStatus
from folkmoot.domain.task_events import StepAction
from folkmoot.http.api.shapes import Document
from folkmoot.http.operation import Asked, Operation
from folkmoot.http.paging import Page, Part, part
from folkmoot.http.problems import Refused, input_refused
from folkmoot.http.reading import Said, Words, WorkSessionId

Texts = Annotated[tuple[Words, ...], Meta(max_length=1000)]
OF_TASK = {"id": "$response.body#/id"}
ACTIONS = ("showTask", "updateTask", "completeTask", "blockTask", "cancelTask", "approveTask", "pickTask")


class TasksQuery(Page):
    agent: str = ""
    """Only its tasks."""
    status: TaskStatus | None = None
    """Those that are so."""
    all: bool = False
    """Also what has ended."""


class StartTask(Said):
    agent: Words
    """Whose task it is."""
    description: Words
    context: str = ""
    """What one must know for it."""
    priority: Priority = "medium"
    steps: Texts = ()
    """What to tick off."""
    requires_approval: bool = False
    """It waits until somebody approves of it."""
    simple: bool = False
    """It needs no steps."""
    work_session_id: WorkSessionId = ""
    """What it belongs to; absent: a work session of its own."""


class AddTask(Said):
    agent: Words
    """Into whose backlog it goes."""
    description: Words
    context: str = ""
    """What one must know for it."""
    priority: Priority = "medium"
    steps: Texts = ()
    """What to tick off."""
    estimated_effort: Effort = ""
    start_date: str = ""
    """Not before this day or time."""
    due_date: str = ""
    """The day or time by which it should be done."""
    depends_on: Texts = ()
    """Tasks to be completed first."""
    assignee: str = ""
    """Another agent that is asked to do it."""
    work_session_id: WorkSessionId = ""
    """What it belongs to; absent: a work session of its own."""


class PickNext(Said):
    agent: Words
    """From whose backlog the most urgent is taken."""


class UpdateTask(Said):
    """A note, or one change of the steps."""

    progress: str = ""
    """A note."""
    action: StepAction | None = None
    step_id: str = ""
    step_content: str = ""
    steps: Texts = ()
    """All steps anew, for `set_steps`."""
    steps_order: Texts = ()
    """Ids in their new order, for `reorder_steps`."""


class CompleteTask(Said):
    summary: str = ""
    """What came of it."""
    force: bool = False
    """Also with open steps."""


class BlockTask(Said):
    reason: Words
    """What it waits for."""
    unblock_by: Annotated[tuple[Words, ...], Meta(min_length=1, max_length=100)]
    """The agents that can help."""
    unblock_action: str = ""
    """What they should do."""


class CancelTask(Said):
    reason: str = "cancelled by a person"
    """Kept with the task."""


class FailTask(Said):
    error: Words
    """What went wrong."""


async def list_tasks(asked: Asked) -> Part:
    """Without `all` and `status`: only what has not ended."""
    query: TasksQuery = asked.query
    if query.agent:
        asked.moot.agent(query.agent)
    shown = [
        task
        for task in (await asked.desks.tasks.all()).values()
        if query.agent in ("", task.agent_id)
        and (query.status == task.status if query.status else query.all or not task.has_ended)
    ]
    return tasks_part(shown, query)


async def show_task(asked: Asked) -> dict[str, Any]:
    return shown(await asked.desks.tasks.get(asked.id))


async def start_task(asked: Asked) -> dict[str, Any]:
    return await _created(asked, begun=True)


async def add_task(asked: Asked) -> dict[str, Any]:
    return await _created(asked, begun=False)


async def pick_next_task(asked: Asked) -> dict[str, Any]:
    tasks = asked.desks.tasks.of(asked.moot.agent(asked.body.agent).id, asked.author)
    return shown(await tasks.pick())


async def pick_task(asked: Asked) -> dict[str, Any]:
    return await _acted(asked, lambda tasks: tasks.pick(asked.id))


async def update_task(asked: Asked) -> dict[str, Any]:
    body: UpdateTask = asked.body
    if not body.progress.strip() and body.action is None:
        raise Refused(400, "an update needs `progress`, or an `action` on the steps")
    stepping = body.action and Stepping(
        body.action, body.step_id, body.step_content, body.steps, body.steps_order
    )
    return await _acted(asked, lambda tasks: tasks.update(asked.id, body.progress, stepping or None))


async def complete_task(asked: Asked) -> dict[str, Any]:
    """Refused while steps are open, unless it is forced."""
    body: CompleteTask = asked.body
    return await _acted(asked, lambda tasks: tasks.complete(asked.id, body.summary, force=body.force))


async def block_task(asked: Asked) -> dict[str, Any]:
    body: BlockTask = asked.body
    blocking = Blocking(body.reason, body.unblock_by, body.unblock_action)
    return await _acted(asked, lambda tasks: tasks.block(blocking, asked.id))


async def resume_task(asked: Asked) -> dict[str, Any]:
    return await _acted(asked, lambda tasks: tasks.resume(asked.id))


async def approve_task(asked: Asked) -> dict[str, Any]:
    return await _acted(asked, lambda tasks: tasks.approve(asked.id))


async def cancel_task(asked: Asked) -> dict[str, Any]:
    return await _acted(asked, lambda tasks: tasks.cancel(asked.id, asked.body.reason))


async def fail_task(asked: Asked) -> dict[str, Any]:
    """It ends as interrupted, with the error as its outcome."""
    return await _acted(asked, lambda tasks: tasks.fail(asked.id, asked.body.error))


def shown(task: Task) -> dict[str, Any]:
    return {**document(task), "stepCounts": step_counts(task)}


def tasks_part(tasks: list[Task], page: Page) -> Part:
    """The most urgent first."""
    return part([shown(task) for task in by_priority(tasks)], page, lambda row: str(row["id"]))


async def _created(asked: Asked, *, begun: bool) -> dict[str, Any]:
    body: StartTask | AddTask = asked.body
    wish = msgspec.convert(msgspec.to_builtins(body), NewTask)
    by = replace(asked.author, work_session=body.work_session_id)
    tasks = asked.desks.tasks.of(asked.moot.agent(body.agent).id, by)
    with input_refused():
        task = await (tasks.start(wish, asked.chance) if begun else tasks.add(wish, asked.chance))
    asked.must_repeat(task.description == body.description.strip())
    return shown(task)


async def _acted(asked: Asked, act: Callable[[AgentTasks], Awaitable[Task]]) -> dict[str, Any]:
    return shown(await act(asked.desks.tasks.of("", asked.author)))


def _action(verb: str, summary: str, handle: Any, body: Any) -> Operation:
    return Operation(
        method="POST",
        path=f"/tasks/{{id}}/{verb}",
        summary=summary,
        handle=handle,
        body=body,
        answer=Document,
        problems=(409,),
        links={name: OF_TASK for name in ("showTask", "resumeTask", "completeTask")},
    )


def _creation(path: str, summary: str, handle: Any, body: Any) -> Operation:
    return Operation(
        method="POST",
        path=path,
        summary=summary,
        handle=handle,
        body=body,
        answer=Document,
        status=201,
        problems=(404,),
        links={name: OF_TASK for name in ACTIONS},
    )


OPERATIONS = (
    Operation(
        method="GET",
        path="/tasks",
        summary="Tasks, the most urgent first",
        handle=list_tasks,
        query=TasksQuery,
        answer=list[Document],
        problems=(404,),
        links={name: {"id": "$response.body#/0/id"} for name in ACTIONS},
    ),
    _creation("/tasks", "Start a task for an agent", start_task, StartTask),
    _creation("/tasks/backlog", "Put a task into the backlog of an agent", add_task, AddTask),
    Operation(
        method="POST",
        path="/tasks/pick",
        summary="Take the most urgent task of an agent's backlog",
        handle=pick_next_task,
        body=PickNext,
        answer=Document,
        problems=(404, 409),
    ),
    Operation(method="GET", path="/tasks/{id}", summary="One task", handle=show_task, answer=Document),
    _action("pick", "Take a task from the backlog", pick_task, Said),
    _action("update", "Note progress, or change the steps", update_task, UpdateTask),
    _action("complete", "Say that a task is done", complete_task, CompleteTask),
    _action("block", "Say that a task cannot go on without others", block_task, BlockTask),
    _action("resume", "Go on with a task that was blocked", resume_task, Said),
    _action("approve", "Approve of a task that waits for it", approve_task, Said),
    _action("cancel", "Give a task up for good", cancel_task, CancelTask),
    _action("fail", "Say that a task could not be done", fail_task, FailTask),
)
