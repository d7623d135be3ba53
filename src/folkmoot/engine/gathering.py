"""Puts the team of a collaboration together, and opens the work session in which it works."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from folkmoot.coordination.author import Author
from folkmoot.coordination.moot import Moot
from folkmoot.coordination.work_sessions.forming import Seat, compose
from folkmoot.domain.agent import Graph, MemberRole, find_agent
from folkmoot.domain.work_session import WorkSession
from folkmoot.domain.work_session_events import WorkSessionOpened
from folkmoot.errors import WrongUse

_NEEDS: dict[MemberRole, str] = {"lead": "plan_approve", "planner": "plan_submit"}
"""The tool without which a role cannot do its part."""


def seats(graph: Graph, members: Iterable[tuple[str, MemberRole | None]]) -> list[Seat]:
    """For agents by file or id, in a role or in their own; for nobody in particular: every agent of the project."""
    wanted = list(members) or [(agent.file, None) for agent in graph.agents.values()]
    found = [(find_agent(graph, name), role) for name, role in wanted]
    return [Seat(role or agent.role, agent=agent.id) for agent, role in found]


async def gathered(
    moot: Moot, opening: WorkSessionOpened, seats: Sequence[Seat], chance: str, author: Author = Author()
) -> WorkSession:
    """A new work session with this team; or, under a `chance` that was used before, the one that was opened then.

    Raises `WrongUse` for a team that could not reach anything.
    """
    team = compose(seats, moot.graph.agents.values())
    agents = {agent.id: agent for agent in moot.graph.agents.values()}
    if not team.in_role("lead"):
        raise WrongUse(
            "the team has no lead: give one agent `role: lead`, or name one as lead among its members"
            " (--member AGENT=lead)"
        )
    for role, tool in _NEEDS.items():
        for member in team.in_role(role):
            if not {tool, "plans"} & {*agents[member].tools}:
                raise WrongUse(f"{member} is the {role} and lacks {tool}: put `plans` into its `tools`")
    opened = await moot.work_sessions.open(opening, author, chance=chance)
    return opened if opened.team else await moot.work_sessions.form(opened.id, seats, author)
