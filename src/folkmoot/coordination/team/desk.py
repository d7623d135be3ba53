"""The desk for team state: reads what came since it was last asked, and says how each agent stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from folkmoot.coordination.team.health import BEATS, LISTED, TeamHealth
from folkmoot.domain.agent import Graph, MemberRole
from folkmoot.domain.entry import Entry
from folkmoot.domain.task import Task
from folkmoot.domain.value import Value
from folkmoot.domain.watch_events import ContinuationBackoff
from folkmoot.ports import Journal, Query

MemberStatus = Literal["active", "idle", "interrupted"]


class Member(Value):
    """How one agent stands."""

    agent_id: str
    role: MemberRole
    status: MemberStatus
    current_task_id: str = ""
    last_heartbeat: str = ""
    consecutive_failures: int = 0
    last_failure_reason: str = ""
    backoff_until: str = ""


class TeamDesk:
    def __init__(self, journal: Journal, graph: Graph) -> None:
        self._journal = journal
        self._roles: dict[str, MemberRole] = {agent.id: agent.role for agent in graph.agents.values()}
        self._health = TeamHealth()
        self._taken: dict[str, int] = {}
        """How far each of the queries has come, by the name of what it reads."""

    async def health(self) -> TeamHealth:
        """What it costs depends on what is new, and on how many runs are under way."""
        listed = await self._new("runs", Query(types=LISTED))
        backed_off = await self._new("tasks", Query(prefix="task_", types=(ContinuationBackoff.type,)))
        self._take("runs", listed)
        self._take("tasks", backed_off)
        for run in list(self._health.open):
            self._take(run, await self._new(run, Query(stream=run, types=BEATS)))
        self._taken = {name: at for name, at in self._taken.items() if name in (*self._health.open, "runs", "tasks")}
        return self._health

    async def living(self) -> frozenset[str]:
        """The runs that somebody goes on with, or that wait for a worker."""
        return frozenset(claim.run for claim in await self._journal.claims() if claim.live or not claim.owner)

    async def members(self, tasks: Mapping[str, Task]) -> list[Member]:
        health, living = await self.health(), await self.living()
        return [member(agent, role, health, tasks, living) for agent, role in sorted(self._roles.items())]

    async def _new(self, name: str, query: Query) -> list[Entry]:
        query = Query(query.stream, query.prefix, query.types, after=self._taken.get(name, 0))
        return [entry async for entry in self._journal.read(query)]

    def _take(self, name: str, entries: Collection[Entry]) -> None:
        """In one go: somebody else may have read the same meanwhile."""
        for entry in entries:
            if entry.seq > self._taken.get(name, 0):
                self._health.take(entry)
                self._taken[name] = entry.seq
