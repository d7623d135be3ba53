"""The eleven tools with which agents keep their tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from folkmoot.coordination.author import calling
from folkmoot.coordination.moot import Moot
from folkmoot.coordination.task.deciding import StopGuard
from folkmoot.coordination.task.desk import AgentTasks
from folkmoot.coordination.task.document import document, step_counts, whole
from folkmoot.coordination.task.opening import NewTask
from folkmoot.coordination.task.stepping import Stepping
from folkmoot.domain.message import RecordState, ToolResult
from folkmoot.domain.task import Blocking, Task
from folkmoot.domain.task_events import StepAction
from folkmoot.ports import Site
from folkmoot.tools.functions import FunctionTool
from folkmoot.tools.parameters import as_text

TaskId = Annotated[str, Meta(description="Left out: your current task.")]
Urgency = Annotated[str, Meta(description="low, medium, high or urgent.")]
Day = Annotated[str, Meta(description="A day such as 2026-01-31, or a time in ISO 8601.")]
Texts = tuple[str, ...]


def task_tools(moot: Callable[[], Moot]) -> dict[str, FunctionTool]:
    tools = TaskTools(moot)
    changing = (
        tools.task_start,
        tools.task_update,
        tools.task_complete,
        tools.task_cancel,
        tools.task_approve,
        tools.task_block,
        tools.task_resume,
        tools.task_backlog_add,
        tools.task_pick_backlog,
    )
    reading = (tools.task_status, tools.task_list)
    made = [FunctionTool(each, "keyed", "read") for each in changing]
    made += [FunctionTool(each, "pure", "read") for each in reading]
    return {tool.name: tool for tool in made}


class TaskTools:
    """Whoever calls acts on its own tasks. A refusal says in which state the task is, and what would help."""

    def __init__(self, moot: Callable[[], Moot]) -> None:
        self._moot = moot

    async def task_start(  # noqa: PLR0913  # because every argument of a tool is a parameter
        self,
        description: str,
        site: Site,
        context: str = "",
        priority: Urgency = "medium",
        requires_approval: bool = False,
        simple: bool = False,
        steps: Texts = (),
    ) -> ToolResult:
        """Start a task of yours and begin with its first step. With requires_approval it waits to be approved first."""
        new = NewTask(description, context, priority, requires_approval, simple, steps)
        return _said(await self._tasks(site).start(new))

    async def task_update(  # noqa: PLR0913  # as above
        self,
        site: Site,
        task_id: TaskId = "",
        progress: str = "",
        action: StepAction = "",
        step_id: str = "",
        step_content: str = "",
        steps: Texts = (),
        steps_order: Texts = (),
    ) -> ToolResult:
        """Note progress on a task, or change its steps by an action. Completing a step begins the next one."""
        stepping = Stepping(action, step_id, step_content, steps, steps_order) if action else None
        task = await self._tasks(site).update(task_id, progress, stepping)
        return _said(task, steps=[whole(step) for step in task.steps])

    async def task_complete(
        self, site: Site, task_id: TaskId = "", summary: str = "", force_complete: bool = False
    ) -> ToolResult:
        """Complete a task. It is refused while steps are open, unless you insist with force_complete."""
        try:
            return _said(await self._tasks(site).complete(task_id, summary, force=force_complete))
        except StopGuard as guard:
            refusal = {
                "success": False,
                "task_id": guard.task_id,
                "blocked_by": "stop_guard",
                "remaining": [whole(step) for step in guard.remaining],
                "error": str(guard),
            }
            return ToolResult(msgspec.json.encode(refusal).decode(), failed=True, plain=True)

    async def task_status(self, site: Site, task_id: str = "") -> ToolResult:
        """Show one task, or how many of yours are in which status and which one you are working on."""
        desk = self._moot().tasks
        tasks = await desk.all()
        if task_id:
            if (task := tasks.get(task_id)) is None:
                return ToolResult(as_text({"found": False, "task_id": task_id}), records=())
            shown = {"found": True, "task": document(task), "step_counts": step_counts(task)}
            return await self._shown(shown, task)
        own = self._tasks(site)
        counts = Counter(task.status for task in await own.list())
        focus = await own.current()
        shown = {"total": counts.total(), "by_status": counts, "current": focus and document(focus)}
        return await self._shown(shown, *([focus] if focus else ()))

    async def task_list(
        self, site: Site, status: str = "", scope: Literal["own", "all"] = "own"
    ) -> ToolResult:
        """List your tasks, the most urgent first; of one status only, or with scope `all` those of all agents."""
        found = await self._tasks(site).list(status, everybody=scope == "all")
        return await self._shown({"count": len(found), "tasks": [document(task) for task in found]}, *found)

    async def task_cancel(self, task_id: str, site: Site, reason: str = "") -> ToolResult:
        """Give a task up for good, and say why."""
        return _said(await self._tasks(site).cancel(task_id, reason))

    async def task_approve(self, task_id: str, site: Site) -> ToolResult:
        """Approve of a task that waits for it; work on it begins."""
        return _said(await self._tasks(site).approve(task_id))

    async def task_block(
        self, reason: str, unblock_by: Texts, site: Site, unblock_action: str = "", task_id: TaskId = ""
    ) -> ToolResult:
        """Say that you cannot go on with a task, why, which agents can help, and what they should do."""
        return _said(await self._tasks(site).block(Blocking(reason, unblock_by, unblock_action), task_id))

    async def task_resume(
        self, site: Site, task_id: Annotated[str, Meta(description="Left out: the blocked one.")] = ""
    ) -> ToolResult:
        """Go on with a task that was blocked."""
        return _said(await self._tasks(site).resume(task_id))

    async def task_backlog_add(  # noqa: PLR0913  # as above
        self,
        description: str,
        site: Site,
        context: str = "",
        priority: Urgency = "medium",
        estimated_effort: Literal["", "small", "medium", "large"] = "",
        start_date: Day = "",
        due_date: Day = "",
        depends_on: Texts = (),
        assignee: Annotated[str, Meta(description="Another agent; left out: you.")] = "",
    ) -> ToolResult:
        """Put a task into your backlog, or ask another agent by putting it into theirs."""
        new = NewTask(
            description,
            context,
            priority,
            estimated_effort=estimated_effort,
            start_date=start_date,
            due_date=due_date,
            depends_on=depends_on,
            assignee=assignee,
        )
        task = await self._tasks(site).add(new)
        return _said(task, source=task.source)

    async def task_pick_backlog(
        self, site: Site, task_id: Annotated[str, Meta(description="Left out: the most urgent one.")] = ""
    ) -> ToolResult:
        """Take a task from your backlog and begin with it."""
        task = await self._tasks(site).pick(task_id)
        said = _said(task, description=task.description, steps=[whole(step) for step in task.steps])
        return replace(said, sources=await self._moot().tasks.keeper.sources([task.id]))

    async def _shown(self, shown: dict[str, Any], *tasks: Task) -> ToolResult:
        """With what those have read who wrote the tasks."""
        read = await self._moot().tasks.keeper.sources([task.id for task in tasks]) if tasks else ()
        return ToolResult(as_text(shown), sources=read, records=())

    def _tasks(self, site: Site) -> AgentTasks:
        return self._moot().tasks.of(site.agent, calling(site))


def _said(task: Task, **more: Any) -> ToolResult:
    said = {
        "success": True,
        "task_id": task.id,
        "agent_id": task.agent_id,
        "work_session_id": task.work_session_id,
        "status": task.status,
        **more,
    }
    return ToolResult(as_text(said), records=(RecordState(task.id, task.status, task.agent_id),))
