"""Operations on tasks: what agents have to do. People see them all, and act for any agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from folkmoot.coordination.task_lists import whole
from folkmoot.coordination.task_service import AgentTasks
from folkmoot.coordination.tasks import NewTask, Stepping
from folkmoot.domain.message import ToolResult
from folkmoot.domain.task import Blocking, Effort, Priority, StepAction, Task
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import AgentTool, Http, OperationType, Spelling, Text, Texts, WorkSessionId
from folkmoot.operations.project import OpenProject
from folkmoot.operations.task_reading import AFTER_TASK, NAMED, READING, NamedTask, TaskOperation, tasks_of


def _or_else(unnamed: str) -> Spelling:
    """How a task is named, or which is meant by an agent alone."""
    line = f"{NAMED} Left out: the {unnamed} one of --agent."
    told = "Left out: your current task." if unnamed == "current" else f"Left out: the {unnamed} one."
    return Spelling(terminal="TASK", tool="task_id", http=False, agent_help=told, help=line)


TaskOrCurrent = Annotated[str, _or_else("current")]
Owner = Annotated[Text, Spelling(metavar="AGENT", tool=None)]
OwnerOrNone = Annotated[
    str, Spelling(metavar="AGENT", tool=None, http=False, help="The agent that is meant.")
]
OwnWorkSession = Annotated[
    WorkSessionId,
    Spelling(terminal=None, tool=None, help="What it belongs to; absent: a work session of its own."),
]
_URGENCY = "low, medium, high or urgent."
Description = Annotated[Text, Spelling(terminal="TEXT", help="What is to be done.")]
Context = Annotated[str, Spelling(help="What one must know for it.")]
Urgency = Annotated[Priority, Spelling(tool_type=str, agent_help=_URGENCY, help=_URGENCY)]
DAY = "A day such as 2026-01-31, or a time in ISO 8601."

_OF_TASK = "$response.body#/id"
_AFTER_CHANGE = dict.fromkeys(("showTask", "resumeTask", "completeTask"), _OF_TASK)
_AFTER_CREATION = dict.fromkeys(AFTER_TASK, _OF_TASK)


def _post(verb: str) -> Http:
    return Http(method="POST", path=f"/tasks/{{id}}/{verb}", problems=(409,), links=_AFTER_CHANGE)


class ChangeOfTask(TaskOperation):
    """Of a task that is named, or of the current one of an agent."""

    subject = "task"
    form = True

    async def find_task(self, project: OpenProject, actor: Actor) -> tuple[AgentTasks, str]:
        """Those of the agent that is meant, and the id of the task that is named, if one is."""
        named: str = getattr(self, "task", "")
        id = await project.tasks.find(named) if named else ""
        return tasks_of(getattr(self, "agent", ""), project, actor), id


class NewTaskOperation(TaskOperation):
    creates = True

    async def create(self, project: OpenProject, actor: Actor, work_session: str, *, begun: bool) -> Task:
        wish = msgspec.convert(msgspec.to_builtins(self), NewTask)
        tasks = tasks_of(getattr(self, "agent", ""), project, actor, work_session)
        return await (tasks.start(wish, actor.id_seed) if begun else tasks.add(wish, actor.id_seed))

    def repeats(self, output: Task) -> bool:
        return output.description == getattr(self, "description", "").strip()


class StartTask(NewTaskOperation):
    """Start a task for an agent."""

    command = "start"
    examples = ('folkmoot tasks start "Mend the login" --agent coder --step "find it" --step "mend it"',)
    http = Http(method="POST", path="/tasks", problems=(404,), links=_AFTER_CREATION)
    tool = AgentTool(
        "task_start",
        "Start a task of yours and begin with its first step. With requires_approval it waits to be approved first.",
    )
    description: Description
    agent: Owner
    """Whose task it is."""
    context: Context = ""
    priority: Urgency = "medium"
    requires_approval: bool = False
    """It waits until somebody approves of it."""
    simple: bool = False
    """It needs no steps."""
    steps: Annotated[Texts, Spelling(terminal="--step")] = ()
    """What to tick off."""
    work_session_id: OwnWorkSession = ""

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        return await self.create(project, actor, self.work_session_id, begun=True)


class AddTask(NewTaskOperation):
    """Put a task into the backlog of an agent."""

    command = "add"
    examples = (
        'folkmoot tasks add "Write the release notes" --agent writer --due 2026-02-01 --effort small',
    )
    http = Http(method="POST", path="/tasks/backlog", problems=(404,), links=_AFTER_CREATION)
    tool = AgentTool(
        "task_backlog_add", "Put a task into your backlog, or ask another agent by putting it into theirs."
    )
    form = True
    description: Description
    agent: Owner
    """Into whose backlog it goes."""
    context: Context = ""
    priority: Urgency = "medium"
    steps: Annotated[Texts, Spelling(terminal="--step", tool=None)] = ()
    """What to tick off."""
    estimated_effort: Annotated[Effort, Spelling(terminal="--effort")] = ""
    """small, medium or large."""
    start_date: Annotated[str, Spelling(terminal="--start", agent_help=DAY)] = ""
    """Not before this day or time."""
    due_date: Annotated[str, Spelling(terminal="--due", agent_help=DAY)] = ""
    """The day or time by which it should be done."""
    depends_on: Annotated[Texts, Spelling(metavar="TASK")] = ()
    """Tasks to be completed first."""
    assignee: Annotated[str, Spelling(terminal=None, agent_help="Another agent; left out: you.")] = ""
    """Another agent that is asked to do it."""
    work_session_id: OwnWorkSession = ""

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        return await self.create(project, actor, self.work_session_id, begun=False)

    def extra_result(self, task: Task) -> Mapping[str, Any]:
        return {"source": task.source}


class PickTask(ChangeOfTask):
    """Take a task from the backlog: the one that is named, or the most urgent of an agent."""

    command = "pick"
    examples = ("folkmoot tasks pick --agent coder", "folkmoot tasks pick task_1f0a2b")
    http = _post("pick")
    tool = AgentTool("task_pick_backlog", "Take a task from your backlog and begin with it.")
    form = False
    task: Annotated[str, _or_else("most urgent")] = ""
    agent: OwnerOrNone = ""

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        tasks, id = await self.find_task(project, actor)
        return await tasks.pick(id)

    async def result(self, output: Task, project: OpenProject, actor: Actor) -> ToolResult:
        said = await super().result(output, project, actor)
        return replace(said, sources=await project.tasks.sources([output.id]))

    def extra_result(self, task: Task) -> Mapping[str, Any]:
        return {"description": task.description, "steps": [whole(step) for step in task.steps]}


class PickNextTask(TaskOperation):
    """Take the most urgent task of an agent's backlog."""

    http = Http(method="POST", path="/tasks/pick", problems=(404, 409))
    agent: Text
    """From whose backlog the most urgent is taken."""

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        return await PickTask(agent=self.agent).run(project, actor)


class UpdateTask(ChangeOfTask):
    """Note progress on a task, or change its steps; one change of the steps at a time."""

    command = "update"
    examples = (
        'folkmoot tasks update --agent coder --progress "found it"',
        "folkmoot tasks update task_1f0a2b --complete-step s1",
        "folkmoot tasks update task_1f0a2b --order s3,s1,s2",
    )
    http = _post("update")
    tool = AgentTool(
        "task_update",
        "Note progress on a task, or change its steps by an action. Completing a step begins the next one.",
    )
    task: TaskOrCurrent = ""
    agent: OwnerOrNone = ""
    progress: str = ""
    """A note."""
    action: Annotated[StepAction | None, Spelling(terminal=None, tool_type=StepAction, tool_default="")] = (
        None
    )
    """What is done to the steps."""
    step_id: Annotated[str, Spelling(terminal=None)] = ""
    """The step that is meant."""
    step_content: Annotated[str, Spelling(terminal=None)] = ""
    """What is to be done, for `add_step`."""
    steps: Annotated[Texts, Spelling(terminal=None)] = ()
    """All steps anew, for `set_steps`."""
    steps_order: Annotated[Texts, Spelling(terminal=None)] = ()
    """Ids in their new order, for `reorder_steps`."""

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        tasks, id = await self.find_task(project, actor)
        stepping = None
        if self.action:
            stepping = Stepping(self.action, self.step_id, self.step_content, self.steps, self.steps_order)
        return await tasks.update(id, self.progress, stepping)

    def extra_result(self, task: Task) -> Mapping[str, Any]:
        return {"steps": [whole(step) for step in task.steps]}


class CompleteTask(ChangeOfTask):
    """Say that a task is done. It is refused while steps are open."""

    command = "complete"
    examples = ('folkmoot tasks complete --agent coder --summary "mended in 3 places"',)
    http = _post("complete")
    tool = AgentTool(
        "task_complete",
        "Complete a task. It is refused while steps are open, unless you insist with force_complete.",
    )
    task: TaskOrCurrent = ""
    agent: OwnerOrNone = ""
    summary: str = ""
    """What came of it."""
    force: Annotated[bool, Spelling(tool="force_complete")] = False
    """Also with open steps."""

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        tasks, id = await self.find_task(project, actor)
        return await tasks.complete(id, self.summary, force=self.force)


class BlockTask(ChangeOfTask):
    """Say that a task cannot go on without others."""

    command = "block"
    examples = ('folkmoot tasks block --agent coder --reason "no key" --by boss --action "send the key"',)
    http = _post("block")
    tool = AgentTool(
        "task_block",
        "Say that you cannot go on with a task, why, which agents can help, and what they should do.",
    )
    reason: Text
    """What it waits for."""
    unblock_by: Annotated[tuple[Text, ...], Meta(max_length=100), Spelling(terminal="--by", metavar="AGENT")]
    """The agents that can help."""
    unblock_action: Annotated[str, Spelling(terminal="--action")] = ""
    """What they should do."""
    task: TaskOrCurrent = ""
    agent: OwnerOrNone = ""

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        tasks, id = await self.find_task(project, actor)
        return await tasks.block(Blocking(self.reason, self.unblock_by, self.unblock_action), id)


class ResumeTask(ChangeOfTask):
    """Go on with a task that was blocked."""

    command = "resume"
    examples = ("folkmoot tasks resume --agent coder",)
    http = _post("resume")
    tool = AgentTool("task_resume", "Go on with a task that was blocked.")
    task: Annotated[str, _or_else("blocked")] = ""
    agent: OwnerOrNone = ""

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        tasks, id = await self.find_task(project, actor)
        return await tasks.resume(id)


class ApproveTask(ChangeOfTask):
    """Approve of a task that waits for it."""

    command = "approve"
    examples = ("folkmoot tasks approve task_1f0a2b",)
    http = _post("approve")
    tool = AgentTool("task_approve", "Approve of a task that waits for it; work on it begins.")
    task: NamedTask

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        tasks, id = await self.find_task(project, actor)
        return await tasks.approve(id)


class CancelTask(ChangeOfTask):
    """Give a task up for good."""

    command = "cancel"
    examples = ('folkmoot tasks cancel task_1f0a2b --reason "the customer left"',)
    http = _post("cancel")
    tool = AgentTool("task_cancel", "Give a task up for good, and say why.")
    task: NamedTask
    reason: str = ""
    """Kept with the task."""

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        tasks, id = await self.find_task(project, actor)
        unsaid = "cancelled by a person" if actor.kind == "person" else ""
        return await tasks.cancel(id, self.reason or unsaid)


class FailTask(ChangeOfTask):
    """Say that a task could not be done: it ends as interrupted, with the error as its outcome."""

    command = "fail"
    examples = ('folkmoot tasks fail task_1f0a2b --error "the server is gone"',)
    http = _post("fail")
    form = False
    task: NamedTask
    error: Text
    """What went wrong."""

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        tasks, id = await self.find_task(project, actor)
        return await tasks.fail(id, self.error)


OPERATIONS: tuple[OperationType, ...] = (
    *READING,
    StartTask,
    AddTask,
    PickNextTask,
    PickTask,
    UpdateTask,
    CompleteTask,
    CancelTask,
    FailTask,
    ApproveTask,
    BlockTask,
    ResumeTask,
)
