"""What the watch sees at one look: all tasks, how the agents fare, and how long ago things were."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from folkmoot.coordination.task_lists import busy, current, next_pick
from folkmoot.coordination.team import Failure, TeamHealth
from folkmoot.domain.agent import Graph
from folkmoot.domain.settings import TaskContinuation
from folkmoot.domain.task import Reason, Task
from folkmoot.errors import WrongUse
from folkmoot.ports import Clock

SECONDS: dict[Reason, float] = {
    "rate_limit": 60.0,
    "billing": 3_600.0,
    "timeout": 60.0,
    "context_overflow": 1_800.0,
    "unknown": 300.0,
}
"""After the first failure."""
LEAST_RESET = 10.0
MOST_TIMES = 8
MOST = 7_200.0


def backoff(failure: Failure, in_a_row: int) -> float:
    """Twice as long with every failure in a row."""
    first = SECONDS[failure.reason]
    if failure.reason == "rate_limit" and failure.reset_after:
        first = max(failure.reset_after, LEAST_RESET)
    return float(min(first * min(2 ** max(0, in_a_row - 1), MOST_TIMES), MOST))


Key = tuple[str, ...]
"""What happened: the task or agent, and what about it."""


class Moments:
    """When things happened, in a time that nobody can set.

    The wall clock is read once, when the watch begins; from there on time passes as the monotonic clock counts it. What
    came into the journal since the last look is no older than that look, and no younger than this one; if the time
    written beside it says otherwise, some clock is wrong, and it counts from now. So a clock that is set while the
    watch runs makes nothing idle or dead before its time. Of what lies before its beginning nothing is known but what
    was written, except that it is not in the future.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = _seconds(clock.now()) - clock.monotonic()
        self._known: dict[Key, tuple[str, float]] = {}
        self._before = -math.inf
        self.now = -math.inf

    def look(self) -> None:
        """Everything is seen anew."""
        self._before, self.now = self.now, self._ahead + self._clock.monotonic()

    def of(self, key: Key, written: str) -> float:
        """When it happened, in seconds; `written` is the time in the journal. Without one it never did."""
        if not written:
            return -math.inf
        known = self._known.get(key)
        if known is None or known[0] != written:
            at = _seconds(written)
            known = self._known[key] = (written, at if self._before <= at <= self.now else self.now)
        return known[1]

    def written(self, moment: float) -> str:
        """As the clock would write it."""
        at = datetime.fromtimestamp(moment, UTC)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _seconds(written: str) -> float:
    return datetime.fromisoformat(written).timestamp()


@dataclass(frozen=True)
class Sight:
    tasks: Mapping[str, Task]
    health: TeamHealth
    living: Collection[str]
    """The runs that somebody goes on with."""
    moments: Moments
    settings: TaskContinuation
    leads: Mapping[str, tuple[str, ...]]
    """Who is told of each agent's interrupted tasks."""
    objection: Callable[[str], str]
    """Why an agent may not be told anything; empty if it may."""
    telling: Collection[str] = ()
    """Agents that are being told something now."""

    def __post_init__(self) -> None:
        """Whatever is new is new since the last look, even if it is not asked for before the next."""
        for task in self.tasks.values():
            if task.has_ended:
                continue
            self.untouched(task)
            self.since(task.last_continuation_at, task.id, "continuation")
            self.since(task.last_reminder_at, task.id, "reminder")
            self.since(task.blocking.last_unblock_request_at if task.blocking else "", task.id, "unblock")
            self.idle(task)
        for agent in self.health.agents:
            self.backed_off(agent)
        for (task_id, lead), report in self.health.reports.items():
            self.since(report.at, task_id, "report", lead)

    @cached_property
    def focus(self) -> dict[str, str]:
        """The one task that each agent works on: whoever looks, it is the same one."""
        working = {task.agent_id for task in self.tasks.values() if task.status == "in_progress"}
        return {agent: task.id for agent in working if (task := current(self.tasks, agent))}

    @cached_property
    def pick(self) -> dict[str, str]:
        """What each agent with a backlog would take from it now; empty if it may not."""
        waiting = {task.agent_id for task in self.tasks.values() if task.status == "backlog"}
        now = self.moments.written(self.moments.now)
        return {agent: _first_pick(self.tasks, agent, now) for agent in waiting}

    def since(self, written: str, *key: str) -> float:
        """Seconds; without end if it never happened."""
        return self.moments.now - self.moments.of(key, written)

    def untouched(self, task: Task) -> float:
        """For how long nobody did anything about a task."""
        return self.since(task.last_activity, task.id, "activity")

    def idle(self, task: Task) -> float:
        """For how long nobody worked on it either."""
        last = self.health.last_runs.get((task.id, task.agent_id))
        if last is None:
            return self.untouched(task)
        beat = last.ended_at or max(last.started_at, self.health.of(task.agent_id).last_heartbeat)
        return min(self.untouched(task), self.since(beat, task.id, "run"))

    def free(self, agent: str) -> bool:
        """Whether it may be told something, and does nothing now."""
        busy = agent in self.telling or self.health.busy(agent, self.living)
        return not busy and not self.objection(agent)

    def worked_on(self, task: Task) -> bool:
        """Whether there is a run of it that somebody goes on with, or that waits for someone."""
        return any(
            run.task == task.id and (run.parked or id in self.living) for id, run in self.health.open.items()
        )

    def backed_off(self, agent: str) -> float:
        """Until when it is left alone after its failures."""
        health = self.health.of(agent)
        if health.last_failure is None:
            return self.moments.now
        failed = self.moments.of((agent, "failure"), health.last_failure.at)
        return failed + backoff(health.last_failure, health.consecutive_failures)


def leads_of(graph: Graph) -> dict[str, tuple[str, ...]]:
    """For each agent the leads of its teams, otherwise all leads of the project; for a lead nobody."""
    ids = {file: agent.id for file, agent in graph.agents.items()}
    leading = {agent.id for agent in graph.agents.values() if agent.role == "lead"}
    of: dict[str, list[str]] = {id: [] for id in ids.values()}
    for file, agent in graph.agents.items():
        if agent.team:
            lead = ids[agent.team.supervisor or file]
            leading.add(lead)
            for member in agent.team.members:
                of[ids[member]].append(lead)
    return {
        id: () if id in leading else tuple(dict.fromkeys(leads or sorted(leading)))
        for id, leads in of.items()
    }


def _first_pick(tasks: Mapping[str, Task], agent: str, now: str) -> str:
    with suppress(WrongUse):
        return "" if busy(tasks, agent) else next_pick(tasks, agent, now).id
    return ""
