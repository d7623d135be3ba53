"""Tasks as they are looked at: which an agent works on and takes next, and one as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from folkmoot.domain.task import ACTIVE, PRIORITIES, StepStatus, Task, TaskStatus
from folkmoot.domain.value import Value
from folkmoot.errors import WrongUse

Tasks = Mapping[str, Task]
_NEVER = "~"
"""Sorts after every date."""


def of_agent(tasks: Tasks, agent: str) -> list[Task]:
    return [task for task in tasks.values() if task.agent_id == agent]


def current(
    tasks: Tasks, agent: str, work_session: str = "", status: TaskStatus = "in_progress"
) -> Task | None:
    """The task that an agent works on: of several one of this work session, otherwise the latest."""
    found = [task for task in of_agent(tasks, agent) if task.status == status]
    here = [task for task in found if task.work_session_id == work_session]
    return max(here or found, key=lambda task: (task.created_at, task.id), default=None)


def by_priority(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: (PRIORITIES.index(task.priority), task.created_at))


def next_pick(tasks: Tasks, agent: str, now: str) -> Task:
    """The first that may be taken now. Raises `WrongUse` if there is none, and says why."""
    waiting = sorted((task for task in of_agent(tasks, agent) if task.status == "backlog"), key=_urgency)
    if not waiting:
        raise WrongUse(f"the backlog of {agent} is empty; add a task to it (task_backlog_add)")
    why = {task.id: objection(tasks, task, now) for task in waiting}
    free = next((task for task in waiting if not why[task.id]), None)
    if free is None:
        raise WrongUse(f"no task in the backlog of {agent} may be picked: {'; '.join(why.values())}")
    return free


def busy(tasks: Tasks, agent: str) -> str:
    """Why an agent takes nothing more; empty if it may."""
    active = next((task for task in of_agent(tasks, agent) if task.status in ACTIVE), None)
    if active is None:
        return ""
    return f"{agent} has {active.id}, which is {active.status}; complete or cancel it before you pick another"


def objection(tasks: Tasks, task: Task, now: str) -> str:
    """Why a task of the backlog may not be taken now; empty if it may."""
    if task.backlog.start_date > now:
        return f"{task.id} starts on {task.backlog.start_date}; pick it then"
    unmet = [id for id in task.backlog.depends_on if id not in tasks or tasks[id].status != "completed"]
    if unmet:
        named = ", ".join(f"{id} ({tasks[id].status if id in tasks else 'missing'})" for id in unmet)
        return f"{task.id} depends on {named}; complete that first"
    return ""


def _urgency(task: Task) -> tuple[int, str, str, str]:
    backlog = task.backlog
    return (
        PRIORITIES.index(task.priority),
        backlog.due_date or _NEVER,
        backlog.start_date or _NEVER,
        task.created_at,
    )


def document(task: Task) -> dict[str, Any]:
    """What blocks it, and what is agreed for the backlog, are fields of the task itself."""
    fields = whole(task)
    blocking, backlog = fields.pop("blocking") or {}, fields.pop("backlog")
    return {**fields, "source": task.source, **blocking, **backlog}


def step_counts(task: Task) -> dict[str, int]:
    statuses: tuple[StepStatus, ...] = ("done", "in_progress", "pending", "skipped")
    counts: dict[str, int] = {
        status: sum(step.status == status for step in task.steps) for status in statuses
    }
    return {"total": len(task.steps), **counts}


def whole(value: Value) -> dict[str, Any]:
    """With the fields that have their defaults, and with the kind of an outcome."""
    tag = value.__struct_config__.tag
    names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
    fields = {outside: _plain(getattr(value, inside)) for outside, inside in names}
    return {"kind": tag, **fields} if tag else fields


def _plain(content: Any) -> Any:
    if isinstance(content, tuple):
        return [_plain(each) for each in content]
    return whole(content) if isinstance(content, Value) else content
