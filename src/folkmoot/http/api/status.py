"""Whether this server is well, what its agents and work sessions do, and who is in the team."""

from __future__ import annotations

from collections import Counter

import msgspec

from folkmoot import __version__
from folkmoot.domain.agent import MemberRole
from folkmoot.domain.run_row import OPEN_STATUSES
from folkmoot.engine.runs import run_list
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.ports import Journal, RunQuery


class Health(msgspec.Struct):
    ok: bool


class AgentState(msgspec.Struct, rename="camel"):
    id: str
    status: str
    """`active` while it takes part in a run that goes on; `interrupted` if that stopped in the middle."""
    role: MemberRole
    current_task_id: str | None
    last_heartbeat: str | None
    """When it last did something."""


class TeamState(msgspec.Struct, rename="camel"):
    agents: list[AgentState]


class Status(msgspec.Struct, rename="camel"):
    version: str
    project: str
    position: int
    """Of the last entry of the journal."""
    agents: list[AgentState]
    runs: dict[str, int]
    """How many there are, by status."""
    work_sessions: dict[str, int]
    waiting: int
    """How many things wait for someone."""
    refused: dict[str, int]
    """How often something was not let in since the server started, by kind."""


async def health(asked: Asked) -> Health:
    return Health(ok=True)


async def status(asked: Asked) -> Status:
    moot = asked.moot
    work = (await asked.house.folds.now()).work
    return Status(
        version=__version__,
        project=moot.folder.resolve().name,
        position=await moot.position(),
        agents=await _agents(asked),
        runs=await _run_counts(moot.moot.journal),
        work_sessions=work.statuses(asked.desks.clock.now()),
        waiting=len(await moot.inbox(status="open")),
        refused=dict(asked.house.refusals.counts),
    )


async def _run_counts(journal: Journal) -> dict[str, int]:
    counts = Counter(dict(await journal.group_runs(RunQuery(), ("status",))))
    for status in OPEN_STATUSES:
        counts.pop(status, None)
    counts.update(row.status for row in await run_list(journal, RunQuery(statuses=OPEN_STATUSES)))
    return counts


async def team_state(asked: Asked) -> TeamState:
    return TeamState(await _agents(asked))


async def _agents(asked: Asked) -> list[AgentState]:
    members = await asked.desks.team.members(await asked.desks.tasks.all())
    return [
        AgentState(
            each.agent_id, each.status, each.role, each.current_task_id or None, each.last_heartbeat or None
        )
        for each in members
    ]


OPERATIONS = (
    Endpoint(method="GET", path="/health", summary="Whether it answers", handle=health, answer=Health),
    Endpoint(
        method="GET",
        path="/status",
        summary="What it is, what agents and work sessions do, and where the journal ends",
        handle=status,
        answer=Status,
    ),
    Endpoint(
        method="GET",
        path="/team-state",
        summary="Every agent: its part, what it does, and when it was last heard of",
        handle=team_state,
        answer=TeamState,
    ),
)
