"""How each agent of a project stands: when it last did something, and whether it fails. A fold over all events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from folkmoot.domain.agent import Agent, MemberRole
from folkmoot.domain.entry import Entry
from folkmoot.domain.events import SessionCompleted, SessionFailed
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


@dataclass
class _Presence:
    last: str = ""
    failures: int = 0
    reason: str = ""


class Presences:
    def __init__(self) -> None:
        self._all: dict[str, _Presence] = {}

    def take(self, entry: Entry) -> None:
        draft = entry.draft
        if not draft.span:
            return  # said about an agent's work, not by it
        known = self._all.setdefault(draft.agent_id, _Presence())
        known.last = draft.ts
        match draft.event:
            case SessionFailed(outcome):
                known.failures, known.reason = known.failures + 1, outcome.error
            case SessionCompleted():
                known.failures, known.reason = 0, ""

    def team(self, agents: Iterable[Agent], tasks: Iterable[Task]) -> list[Teammate]:
        """By name."""
        open_tasks = sorted(
            (task for task in tasks if task.status in ACTIVE), key=lambda task: task.last_activity
        )
        current = {task.agent_id: task for task in open_tasks}
        return [
            self._teammate(agent, current.get(agent.id)) for agent in sorted(agents, key=lambda each: each.id)
        ]

    def _teammate(self, agent: Agent, task: Task | None) -> Teammate:
        known = self._all.get(agent.id, _Presence())
        return Teammate(
            agent.id,
            agent.role,
            agent.description,
            health=_health(known.failures, task),
            task=task,
            last_activity=known.last,
            failures=known.failures,
            last_failure=known.reason,
        )


def _health(failures: int, task: Task | None) -> Health:
    if failures >= FAILING:
        return "failing"
    return "unsteady" if failures or (task and task.status == "blocked") else "well"
