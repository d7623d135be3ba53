"""How each agent of a project stands, as people look at it: when it last did something, and whether it fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from folkmoot.domain.agent import Agent, Member, MemberRole
from folkmoot.domain.task import ACTIVE, Task
from folkmoot.domain.value import Value

FAILING = 3
"""So many failures in a row, and an agent is not well."""

Health = Literal["well", "unsteady", "failing"]
HEALTH: Mapping[Health, tuple[str, str]] = {
    "well": ("done", "well"),
    "unsteady": ("waiting", "unsteady"),
    "failing": ("failed", "failing"),
}
"""The state in whose form each is drawn, and its word."""


class Teammate(Value, omit_defaults=False):
    agent_id: str
    role: MemberRole
    description: str
    health: Health
    task: Task | None
    """What it works on, or is blocked with."""
    last_activity: str
    """Empty: never."""
    failures: int
    """In a row."""
    last_failure: str


def teammates(
    members: Iterable[Member], agents: Iterable[Agent], tasks: Mapping[str, Task]
) -> list[Teammate]:
    """By name."""
    described = {agent.id: agent.description for agent in agents}
    return [_teammate(each, described.get(each.agent_id, ""), tasks) for each in members]


def _teammate(member: Member, description: str, tasks: Mapping[str, Task]) -> Teammate:
    own = [task for task in tasks.values() if task.agent_id == member.agent_id and task.status in ACTIVE]
    task = tasks.get(member.current_task_id) or max(own, key=lambda each: each.last_activity, default=None)
    return Teammate(
        member.agent_id,
        member.role,
        description,
        health=_health(member.consecutive_failures, task),
        task=task,
        last_activity=member.last_heartbeat,
        failures=member.consecutive_failures,
        last_failure=member.last_failure or member.last_failure_reason,
    )


def _health(failures: int, task: Task | None) -> Health:
    if failures >= FAILING:
        return "failing"
    return "unsteady" if failures or (task and task.status == "blocked") else "well"
