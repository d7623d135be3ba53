"""What one agent has to do, works on, waits for and has done."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from folkmoot.coordination.task.picking import current, of_agent
from folkmoot.domain.task import Task
from folkmoot.errors import NotFound
from folkmoot.http.api.agents import agent_of
from folkmoot.http.api.shapes import Document
from folkmoot.http.api.tasks import shown, tasks_part
from folkmoot.http.operation import Asked, Operation
from folkmoot.http.paging import Page, Part, part
from folkmoot.views.plan_json import document


class HistoryQuery(Page):
    month: Annotated[str, Meta(pattern=r"^([0-9]{4}-(0[1-9]|1[0-2]))?$")] = ""
    """Only what ended in this month, such as `2026-03`."""


async def agent_tasks(asked: Asked) -> Part:
    return tasks_part(await _tasks(asked), asked.query)


async def agent_task(asked: Asked) -> dict[str, Any]:
    for task in await _tasks(asked):
        if task.id == asked.path["task_id"]:
            return shown(task)
    raise NotFound(f"there is no task {asked.path['task_id']!r} of {asked.id}", code="task_not_found")


async def current_task(asked: Asked) -> dict[str, Any] | None:
    found = current(await asked.desks.tasks.all(), agent_of(asked).id)
    return shown(found) if found else None


async def blocked_tasks(asked: Asked) -> Part:
    return tasks_part([task for task in await _tasks(asked) if task.status == "blocked"], asked.query)


async def task_history(asked: Asked) -> Part:
    """The latest first."""
    query: HistoryQuery = asked.query
    ended = [task for task in await _tasks(asked) if task.has_ended and task.ended_at.startswith(query.month)]
    ended.sort(key=lambda task: task.ended_at, reverse=True)
    return part([shown(task) for task in ended], query, lambda row: str(row["id"]))


async def agent_plans(asked: Asked) -> Part:
    agent = agent_of(asked).id
    plans = (await asked.desks.plans.all()).values()
    own = [
        document(plan)
        for plan in plans
        if agent == plan.author or any(agent == step.owner for step in plan.steps)
    ]
    return part(own, asked.query, lambda row: str(row["id"]))


async def _tasks(asked: Asked) -> list[Task]:
    return of_agent(await asked.desks.tasks.all(), agent_of(asked).id)


def _list(path: str, summary: str, handle: Any, query: Any = Page) -> Operation:
    return Operation(
        method="GET",
        path=f"/agents/{{id}}/{path}",
        summary=summary,
        handle=handle,
        query=query,
        answer=list[Document],
    )


OPERATIONS = (
    _list("tasks", "All tasks of an agent, the most urgent first", agent_tasks),
    Operation(
        method="GET",
        path="/agents/{id}/tasks/{task_id}",
        summary="One task of an agent",
        handle=agent_task,
        answer=Document,
    ),
    Operation(
        method="GET",
        path="/agents/{id}/current",
        summary="The task that an agent works on, or null",
        handle=current_task,
        answer=Document | None,
    ),
    _list("blocked", "The tasks of an agent that wait for others", blocked_tasks),
    _list("history", "What an agent has done, the latest first", task_history, HistoryQuery),
    _list("plans", "The plans that an agent made, or has a step of", agent_plans),
)
