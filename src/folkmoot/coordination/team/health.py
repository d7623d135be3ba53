"""How each agent fares: a fold over what is recorded, so it survives whatever becomes of the process that asks."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from folkmoot.coordination.team.reason import Reason, reason_of, reset_after
from folkmoot.domain.entry import Entry
from folkmoot.domain.events import (
    RUN_ENDS,
    SESSION_ENDS,
    RunCompleted,
    RunFailed,
    RunParked,
    RunStarted,
    SessionStarted,
)
from folkmoot.domain.value import Value
from folkmoot.domain.watch_events import ContinuationBackoff

LISTED = (
    "run.started", "run.parked", "run.completed", "run.failed", "run.cancelled", "run.pruned",
    "session.started", "session.completed", "session.failed", "session.cancelled",
)  # fmt: skip
"""What is read of all runs: every journal finds these quickly."""
BEATS = ("llm.request", "tool.started", "tool.finished")
"""Signs of life inside a session; read only of runs that are under way."""


class Failure(Value):
    at: str
    reason: Reason
    reset_after: float = 0.0
    """Seconds that the provider asked for."""


class Health(Value):
    """Of one agent."""

    last_heartbeat: str = ""
    """When one of its sessions last gave a sign of life."""
    consecutive_failures: int = 0
    """Of runs that it was the root of."""
    last_failure: Failure | None = None
    """Of these; none after a success."""
    backoff_until: str = ""


class OpenRun(Value):
    """A run that has begun and not ended."""

    agent: str
    """The id of its root agent."""
    task: str = ""
    sessions: dict[str, str] = {}
    """Those that have not ended, and whose they are."""
    parked: bool = False


class LastRun(Value):
    """Of an agent on a task."""

    run: str
    started_at: str
    ended_at: str = ""
    completed: bool = False


@dataclass
class TeamHealth:
    """Of all agents; entries are taken in the order of the journal, each once."""

    agents: dict[str, Health] = field(default_factory=dict)
    open: dict[str, OpenRun] = field(default_factory=dict)
    """By the run's name."""
    last_runs: dict[tuple[str, str], LastRun] = field(default_factory=dict)
    """By task and agent."""
    last_updated: str = ""

    def of(self, agent: str) -> Health:
        return self.agents.get(agent) or Health()

    def take(self, entry: Entry) -> None:
        event, agent, at = entry.event, entry.draft.agent_id, entry.draft.ts
        self.last_updated = max(self.last_updated, at)
        match event:
            case ContinuationBackoff():
                self.agents[event.agent] = replace(self.of(event.agent), backoff_until=event.until)
                return
            case RunStarted():
                self.open[entry.stream] = OpenRun(agent, event.errand.task)
                if event.errand.task:
                    self.last_runs[event.errand.task, agent] = LastRun(entry.stream, at)
            case RunFailed() | RunCompleted():
                self.agents[agent] = _scored(self.of(agent), event, at)
        if agent:
            self.agents[agent] = _beating(self.of(agent), at)
        if isinstance(event, RUN_ENDS):
            self._end(entry.stream, at, completed=isinstance(event, RunCompleted))
        elif entry.stream in self.open:
            self.open[entry.stream] = _went_on(self.open[entry.stream], entry)

    def _end(self, run: str, at: str, *, completed: bool) -> None:
        if ended := self.open.pop(run, None):
            last = self.last_runs.get((ended.task, ended.agent))
            if last and last.run == run:
                known = replace(last, ended_at=at, completed=completed)
                self.last_runs[ended.task, ended.agent] = known


def _scored(before: Health, event: RunFailed | RunCompleted, at: str) -> Health:
    """A success forgets all failures before it."""
    if isinstance(event, RunCompleted):
        return Health(last_heartbeat=before.last_heartbeat)
    return replace(
        before,
        consecutive_failures=before.consecutive_failures + 1,
        last_failure=Failure(at, reason_of(event), reset_after(event)),
    )


def _beating(health: Health, at: str) -> Health:
    return replace(health, last_heartbeat=max(health.last_heartbeat, at))


def _went_on(run: OpenRun, entry: Entry) -> OpenRun:
    sessions = run.sessions
    if isinstance(entry.event, SessionStarted):
        sessions = {**sessions, entry.draft.session_id: entry.draft.agent_id}
    elif isinstance(entry.event, SESSION_ENDS):
        sessions = {id: agent for id, agent in sessions.items() if id != entry.draft.session_id}
    return replace(run, sessions=sessions, parked=isinstance(entry.event, RunParked))
