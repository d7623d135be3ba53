"""How the agents of a project fare: a fold over what is recorded, so it survives the process that asks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from folkmoot.coordination.task_lists import current, of_agent
from folkmoot.domain import older_entries
from folkmoot.domain.agent import Graph, Member, MemberRole, MemberStatus
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
from folkmoot.domain.records import TASK
from folkmoot.domain.task import ContinuationBackoff, Reason, Task, ZombieReported
from folkmoot.domain.value import Value
from folkmoot.ports import Journal, Query

LISTED = (
    "run.started", "run.parked", "run.completed", "run.failed", "run.cancelled", "run.pruned",
    "session.started", "session.completed", "session.failed", "session.cancelled",
)  # fmt: skip
"""What is read of all runs: every journal finds these quickly."""
WATCHED = ("continuation.backoff", "zombie.reported")
"""What is read of all tasks."""
BEATS = ("llm.request", "tool.started", "tool.finished")
"""Signs of life inside a session; read only of runs that are under way."""


class Failure(Value):
    at: str
    reason: Reason
    reset_after: float = 0.0
    """Seconds that the provider asked for; 0 if it named none."""
    text: str = ""
    """What was said about it."""


@dataclass
class Health:
    """Of one agent."""

    last_heartbeat: str = ""
    """When one of its sessions last gave a sign of life."""
    consecutive_failures: int = 0
    """Of runs that it was the root of."""
    last_failure: Failure | None = None
    """Of these; none after a success."""
    backoff_until: str = ""
    backed_off_for: int = 0
    """How many failures in a row that answers."""

    def back_off(self, event: ContinuationBackoff, at: str) -> None:
        """It also tells of failures that left no run behind."""
        if self.last_failure is None or event.failures > self.consecutive_failures:
            self.last_failure = Failure(at, event.reason)
        self.consecutive_failures = max(self.consecutive_failures, event.failures)
        self.backoff_until, self.backed_off_for = event.until, event.failures


@dataclass
class OpenRun:
    """A run that has begun and not ended."""

    agent: str
    """The id of its root agent."""
    task: str
    sessions: dict[str, str] = field(default_factory=dict)
    """Those that have not ended, and whose they are."""
    parked: int = 0
    """The position at which it was put aside to wait for someone; 0 while it is not."""

    def go_on(self, entry: Entry) -> None:
        if isinstance(entry.event, SessionStarted):
            self.sessions[entry.draft.session_id] = entry.draft.agent_id
        elif isinstance(entry.event, SESSION_ENDS):
            self.sessions.pop(entry.draft.session_id, None)
        if isinstance(entry.event, RunParked):
            self.parked = entry.seq
        elif self.parked <= entry.seq:  # a sign of life from before it was parked may be read after it
            self.parked = 0


@dataclass
class LastRun:
    """Of an agent on a task."""

    run: str
    started_at: str
    ended_at: str = ""
    completed: bool = False


class ToldLead(NamedTuple):
    """That a lead was told of an interrupted task."""

    at: str
    times: int


@dataclass
class TeamHealth:
    """Of all agents; entries are taken in the order of the journal, each once."""

    agents: dict[str, Health] = field(default_factory=dict)
    open: dict[str, OpenRun] = field(default_factory=dict)
    """By the run's name."""
    last_runs: dict[tuple[str, str], LastRun] = field(default_factory=dict)
    """By task and agent."""
    reports: dict[tuple[str, str], ToldLead] = field(default_factory=dict)
    """By task and lead."""

    def of(self, agent: str) -> Health:
        return self.agents.get(agent) or Health()

    def busy(self, agent: str, living: Collection[str]) -> bool:
        """Whether somebody goes on with a run in which this agent works."""
        return any(run in living and not self.open[run].parked for run in self.runs_of(agent))

    def runs_of(self, agent: str) -> list[str]:
        """Those that have not ended."""
        return [id for id, run in self.open.items() if agent == run.agent or agent in run.sessions.values()]

    def take(self, entry: Entry) -> None:
        event, agent, at, stream = entry.event, entry.draft.agent_id, entry.draft.ts, entry.stream
        match event:
            case ContinuationBackoff():
                self.agents.setdefault(event.agent, Health()).back_off(event, at)
                return
            case ZombieReported(lead=lead):
                before = self.reports.get((stream, lead))
                self.reports[stream, lead] = ToldLead(at, before.times + 1 if before else 1)
                return
            case RunStarted(errand=errand):
                self.open[stream] = OpenRun(agent, errand.task)
                if errand.task:
                    self.last_runs[errand.task, agent] = LastRun(stream, at)
            case RunFailed():
                health = self.agents.setdefault(agent, Health())
                health.consecutive_failures += 1
                health.last_failure = failure_of(event, at)
            case RunCompleted():  # a success forgets all failures before it
                self.agents[agent] = Health(self.of(agent).last_heartbeat)
        if agent:
            health = self.agents.setdefault(agent, Health())
            health.last_heartbeat = max(health.last_heartbeat, at)
        if isinstance(event, RUN_ENDS):
            self._end(stream, at, completed=isinstance(event, RunCompleted))
        elif stream in self.open:
            self.open[stream].go_on(entry)

    def _end(self, run: str, at: str, *, completed: bool) -> None:
        if ended := self.open.pop(run, None):
            last = self.last_runs.get((ended.task, ended.agent))
            if last and last.run == run:
                last.ended_at, last.completed = at, completed


def failure_of(failed: RunFailed, at: str) -> Failure:
    """In the five words that the watch backs off by."""
    error, reset_after = failed.error, failed.reset_after
    reason: Reason = failed.kind or older_entries.failure_kind(error)
    if not failed.kind:
        reset_after = older_entries.reset_after(error)
    return Failure(at, "context_overflow" if failed.stop_reason == "CONTEXT" else reason, reset_after, error)


class TeamDesk:
    def __init__(self, journal: Journal, graph: Graph) -> None:
        self._journal = journal
        self._roles = {agent.id: agent.role for agent in graph.agents.values()}
        self._health = TeamHealth()
        self._seen = 0
        self._heard: dict[str, int] = {}
        """Up to where the signs of life of each run under way were read."""

    async def health(self) -> TeamHealth:
        """What it costs depends on what is new, and on how many runs are under way."""
        end = await self._end()
        found = await self._read(Query(types=LISTED, after=self._seen))
        found += await self._read(Query(prefix=TASK.prefix, types=WATCHED, after=self._seen))
        for entry in sorted(found, key=lambda entry: entry.seq):
            if self._seen < entry.seq <= end:  # somebody else may have asked meanwhile
                self._health.take(entry)
        self._seen = max(self._seen, end)
        self._heard = {run: self._heard.get(run, 0) for run in self._health.open}
        for run, heard in list(self._heard.items()):
            for entry in await self._read(Query(stream=run, types=BEATS, after=heard)):
                self._health.take(entry)
                self._heard[run] = entry.seq
        return self._health

    async def living(self) -> frozenset[str]:
        """The runs that somebody goes on with, or that wait for a worker."""
        claims = await self._journal.claims(self._health.open)
        return frozenset(claim.run for claim in claims if claim.live or not claim.owner)

    async def members(self, tasks: Mapping[str, Task]) -> list[Member]:
        health, living = await self.health(), await self.living()
        return [member(agent, role, health, tasks, living) for agent, role in sorted(self._roles.items())]

    async def _read(self, query: Query) -> list[Entry]:
        return [entry async for entry in self._journal.read(query)]

    async def _end(self) -> int:
        """Where the journal ends now, whatever state its last entry is in."""
        newest = self._journal.stored(Query(newest_first=True, limit=1))
        return max([stored.seq async for stored in newest], default=0)


def member(
    agent: str, role: MemberRole, health: TeamHealth, tasks: Mapping[str, Task], living: Collection[str]
) -> Member:
    fares, working_on = health.of(agent), current(tasks, agent)
    return Member(
        agent_id=agent,
        role=role,
        status=_status(agent, health, tasks, living),
        current_task_id=working_on.id if working_on else "",
        last_heartbeat=fares.last_heartbeat,
        consecutive_failures=fares.consecutive_failures,
        last_failure_reason=fares.last_failure.reason if fares.last_failure else "",
        last_failure=fares.last_failure.text if fares.last_failure else "",
        backoff_until=fares.backoff_until,
    )


def _status(
    agent: str, health: TeamHealth, tasks: Mapping[str, Task], living: Collection[str]
) -> MemberStatus:
    """Interrupted: its run was cut off, or its last task was given up and nothing came after."""
    if health.busy(agent, living):
        return "active"
    cut_off = any(not health.open[run].parked for run in health.runs_of(agent))
    given_up = max(
        (task.ended_at for task in of_agent(tasks, agent) if task.status == "interrupted"), default=""
    )
    return "interrupted" if cut_off or given_up > health.of(agent).last_heartbeat else "idle"
