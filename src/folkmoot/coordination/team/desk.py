"""The desk for team state: reads what came since it was last asked, and says how each agent stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from folkmoot.coordination.task.picking import current, of_agent
from folkmoot.coordination.team.health import BEATS, LISTED, WATCHED, TeamHealth
from folkmoot.domain.agent import Graph, Member, MemberRole, MemberStatus
from folkmoot.domain.entry import Entry
from folkmoot.domain.records import TASK
from folkmoot.domain.task import Task
from folkmoot.ports import Journal, Query


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
        return frozenset(claim.run for claim in await self._journal.claims() if claim.live or not claim.owner)

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
