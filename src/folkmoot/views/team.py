"""The team: each agent's health on the page, and `team-state.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from folkmoot.domain.agent import Agent, Member
from folkmoot.domain.task import ACTIVE, Task

FAILING = 3
"""So many failures in a row, and an agent is not well."""

Health = Literal["well", "unsteady", "failing"]
HEALTH: Mapping[Health, tuple[str, str]] = {
    "well": ("done", "well"),
    "unsteady": ("waiting", "unsteady"),
    "failing": ("failed", "failing"),
}
"""The state in whose form each is drawn, and its word."""


class Teammate(NamedTuple):
    """One agent of the team."""

    member: Member
    description: str
    health: Health
    task: Task | None
    """What it works on, or is blocked with."""


def teammates(
    members: Iterable[Member], agents: Iterable[Agent], tasks: Mapping[str, Task]
) -> Iterator[Teammate]:
    """By name."""
    described = {agent.id: agent.description for agent in agents}
    for each in members:
        own = [task for task in tasks.values() if task.agent_id == each.agent_id and task.status in ACTIVE]
        latest = max(own, key=lambda task: task.last_activity, default=None)
        task = tasks.get(each.current_task_id) or latest
        yield Teammate(each, described.get(each.agent_id, ""), _health(each.consecutive_failures, task), task)


def _health(failures: int, task: Task | None) -> Health:
    if failures >= FAILING:
        return "failing"
    return "unsteady" if failures or (task and task.status == "blocked") else "well"


FILE = "team-state.json"


def team_document(members: Sequence[Member]) -> dict[str, Any]:
    """With the names that `team-state.json` has always had; what is not known is null."""
    updated = [ms for each in members if (ms := _milliseconds(each.last_heartbeat)) is not None]
    return {
        "version": 1,
        "agents": {each.agent_id: _document(each) for each in members},
        "lastUpdatedMs": max(updated, default=0),
    }


def projected(members: Sequence[Member]) -> dict[str, str]:
    """The file, by its name."""
    return {FILE: json.dumps(team_document(members), ensure_ascii=False, indent=2) + "\n"}


def _document(member: Member) -> dict[str, Any]:
    return {
        "agentId": member.agent_id,
        "role": member.role,
        "currentTaskId": member.current_task_id or None,
        "lastHeartbeatMs": _milliseconds(member.last_heartbeat),
        "status": member.status,
        "consecutiveFailures": member.consecutive_failures,
        "lastFailureReason": member.last_failure_reason or None,
        "backoffUntilMs": _milliseconds(member.backoff_until),
    }


def _milliseconds(written: str) -> int | None:
    return round(datetime.fromisoformat(written).timestamp() * 1000) if written else None
