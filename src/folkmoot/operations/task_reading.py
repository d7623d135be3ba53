"""Operations that look at tasks, and what the others on tasks share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from folkmoot.coordination.task_lists import by_priority, current, document, step_counts
from folkmoot.coordination.task_service import AgentTasks
from folkmoot.domain.agent import find_agent
from folkmoot.domain.message import RecordState, ToolResult
from folkmoot.domain.task import ENDED, LIVE, Task, TaskStatus
from folkmoot.errors import NotFound
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import AgentTool, Http, Operation, OperationType, Spelling
from folkmoot.operations.project import OpenProject
from folkmoot.ports import RecordQuery
from folkmoot.tools.parameters import as_text

NAMED = "A task's id, its beginning, or `last`."
NamedTask = Annotated[str, Spelling(terminal="TASK", tool="task_id", http=False, help=NAMED)]
AFTER_TASK = (
    "showTask",
    "updateTask",
    "completeTask",
    "blockTask",
    "cancelTask",
    "approveTask",
    "pickTask",
)
"""Endpoints that whoever has a task asks next."""


def task_document(task: Task) -> dict[str, Any]:
    return {**document(task), "stepCounts": step_counts(task)}


def tasks_of(agent: str, project: OpenProject, actor: Actor, work_session: str = "") -> AgentTasks:
    """An agent acts on its own tasks, a person on those of any agent."""
    if actor.kind == "agent":
        agent = actor.id
    elif agent:
        agent = find_agent(project.graph, agent).id
    return project.tasks.of(agent, actor.author(work_session))


class TaskOperation(Operation[Task]):
    """What comes to one task."""

    def document(self, output: Task) -> dict[str, Any]:
        return task_document(output)

    async def result(self, output: Task, project: OpenProject, actor: Actor) -> ToolResult:
        said = {
            "success": True,
            "task_id": output.id,
            "agent_id": output.agent_id,
            "work_session_id": output.work_session_id,
            "status": output.status,
            **self.extra_result(output),
        }
        return ToolResult(as_text(said), records=(RecordState(output.id, output.status, output.agent_id),))

    def extra_result(self, task: Task) -> Mapping[str, Any]:
        """What an agent is told beside that."""
        return {}


class ListTasks(Operation[list[Task]]):
    """List tasks, the most urgent first: of all agents, and only what has not ended."""

    command = "list"
    examples = (
        "folkmoot tasks list",
        "folkmoot tasks list --agent coder --status backlog --json",
        "folkmoot tasks list --live",
    )
    http = Http(
        method="GET",
        path="/tasks",
        problems=(404,),
        links={name: "$response.body#/0/id" for name in AFTER_TASK},
    )
    reads = True
    agent: Annotated[str, Spelling(metavar="AGENT")] = ""
    """Only its tasks."""
    status: TaskStatus | None = None
    """Only those in this status."""
    all: bool = False
    """Also what has ended."""

    def includes(self, task: Task) -> bool:
        live = self.all or self.status or not task.has_ended
        return bool(live) and self.agent in ("", task.agent_id) and self.status in (None, task.status)

    def select(self, tasks: Mapping[str, Task]) -> list[Task]:
        return by_priority(task for task in tasks.values() if self.includes(task))

    async def run(self, project: OpenProject, actor: Actor) -> list[Task]:
        wanted = (self.status,) if self.status else None if self.all else LIVE
        tasks = await project.tasks.select(RecordQuery(agent=self.agent, statuses=wanted))
        if self.agent and not tasks and not await project.tasks.select(RecordQuery(agent=self.agent)):
            find_agent(project.graph, self.agent)
        return self.select(tasks)

    def document(self, output: list[Task]) -> list[dict[str, Any]]:
        return [task_document(task) for task in output]


class ShowTask(TaskOperation):
    """Show one task, with its steps, progress and outcome."""

    command = "show"
    examples = ("folkmoot tasks show task_1f0a2b", "folkmoot tasks show task_1f0a2b --json")
    http = Http(method="GET", path="/tasks/{id}")
    subject = "task"
    reads = True
    task: NamedTask

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        return await project.tasks.get(await project.tasks.find(self.task))


class OfAgent(Operation[list[Task]]):
    """Tasks of one agent."""

    subject = "agent"
    reads = True
    statuses: ClassVar[tuple[TaskStatus, ...] | None] = None
    """Only those in one of these."""
    agent: str

    async def tasks(self, project: OpenProject) -> list[Task]:
        query = RecordQuery(agent=find_agent(project.graph, self.agent).id, statuses=self.statuses)
        return [*(await project.tasks.select(query)).values()]

    def document(self, output: list[Task]) -> list[dict[str, Any]]:
        return [task_document(task) for task in output]


class ListAgentTasks(OfAgent):
    """All tasks of an agent, the most urgent first."""

    http = Http(method="GET", path="/agents/{id}/tasks", name="agentTasks")

    async def run(self, project: OpenProject, actor: Actor) -> list[Task]:
        return by_priority(await self.tasks(project))


class ListBlockedTasks(OfAgent):
    """The tasks of an agent that wait for others."""

    http = Http(method="GET", path="/agents/{id}/blocked", name="blockedTasks")
    statuses = ("blocked",)

    async def run(self, project: OpenProject, actor: Actor) -> list[Task]:
        return by_priority(await self.tasks(project))


class ListEndedTasks(OfAgent):
    """What an agent has done, the latest first."""

    http = Http(method="GET", path="/agents/{id}/history", name="taskHistory")
    statuses = ENDED
    month: Annotated[str, Meta(pattern=r"^([0-9]{4}-(0[1-9]|1[0-2]))?$")] = ""
    """Only what ended in this month, such as `2026-03`."""

    async def run(self, project: OpenProject, actor: Actor) -> list[Task]:
        tasks = await self.tasks(project)
        ended = (task for task in tasks if task.ended_at.startswith(self.month))
        return sorted(ended, key=lambda task: task.ended_at, reverse=True)


class ShowAgentTask(Operation[Task]):
    """One task of an agent."""

    http = Http(method="GET", path="/agents/{id}/tasks/{task_id}", name="agentTask")
    subject = "agent"
    reads = True
    agent: str
    task_id: str

    async def run(self, project: OpenProject, actor: Actor) -> Task:
        agent = find_agent(project.graph, self.agent).id
        task = await project.tasks.look_up(self.task_id)
        if task and task.agent_id == agent:
            return task
        raise NotFound(f"there is no task {self.task_id!r} of {self.agent}", code="task_not_found")

    def document(self, output: Task) -> dict[str, Any]:
        return task_document(output)


class ShowCurrentTask(Operation[Task | None]):
    """The task that an agent works on, or null."""

    http = Http(method="GET", path="/agents/{id}/current", name="currentTask")
    subject = "agent"
    reads = True
    agent: str

    async def run(self, project: OpenProject, actor: Actor) -> Task | None:
        agent = find_agent(project.graph, self.agent).id
        query = RecordQuery(agent=agent, statuses=("in_progress",))
        return current(await project.tasks.select(query), agent)

    def document(self, output: Task | None) -> dict[str, Any] | None:
        return task_document(output) if output else None


class ListOwnTasks(Operation[list[Task]]):
    """The tasks that an agent sees."""

    tool = AgentTool(
        "task_list",
        "List your tasks, the most urgent first; of one status only, or with scope `all` those of all agents.",
    )
    reads = True
    status: Annotated[TaskStatus | None, Spelling(tool_type=str, tool_default="")] = None
    scope: Literal["own", "all"] = "own"

    async def run(self, project: OpenProject, actor: Actor) -> list[Task]:
        own = tasks_of("", project, actor)
        return await own.list(self.status, everybody=self.scope == "all")

    async def result(self, output: list[Task], project: OpenProject, actor: Actor) -> ToolResult:
        return await _describe_tasks(
            project, {"count": len(output), "tasks": [*map(document, output)]}, *output
        )


class ReviewOwnTasks(Operation[list[Task]]):
    """One task, or how an agent's own tasks stand."""

    tool = AgentTool(
        "task_status",
        "Show one task, or how many of yours are in which status and which one you are working on.",
    )
    reads = True
    task: Annotated[str, Spelling(tool="task_id")] = ""

    async def run(self, project: OpenProject, actor: Actor) -> list[Task]:
        if self.task:
            found = await project.tasks.look_up(self.task)
            return [found] if found else []
        return await tasks_of("", project, actor).list()

    async def result(self, output: list[Task], project: OpenProject, actor: Actor) -> ToolResult:
        if self.task and not output:
            return ToolResult(as_text({"found": False, "task_id": self.task}), records=())
        if self.task:
            (task,) = output
            said = {"found": True, "task": document(task), "step_counts": step_counts(task)}
            return await _describe_tasks(project, said, task)
        counts = Counter(task.status for task in output)
        focus = await tasks_of("", project, actor).current()
        said = {"total": counts.total(), "by_status": counts, "current": focus and document(focus)}
        return await _describe_tasks(project, said, *([focus] if focus else ()))


async def _describe_tasks(project: OpenProject, said: dict[str, Any], *tasks: Task) -> ToolResult:
    """With what those have read who wrote the tasks."""
    read = await project.tasks.sources([task.id for task in tasks]) if tasks else ()
    return ToolResult(as_text(said), sources=read, records=())


READING: tuple[OperationType, ...] = (
    ListTasks,
    ShowTask,
    ListAgentTasks,
    ShowAgentTask,
    ShowCurrentTask,
    ListBlockedTasks,
    ListEndedTasks,
    ListOwnTasks,
    ReviewOwnTasks,
)
