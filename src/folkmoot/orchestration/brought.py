"""Tools that the caller of a run brings along: who is offered them, and as what.

Only agents that speak with the caller have them: the root of the run, whoever it routes or hands off to, and the lead
if one of these is a team. Everybody else works for another agent, with what its own file names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.message import ToolSpec
from folkmoot.orchestration.kit import Kit, with_exits

FACING = ("route", "handoff", "lead")
"""How one that speaks with the caller passes the caller on."""


def beside(kit: Kit, tools: Sequence[ToolSpec]) -> Kit:
    """A kit with the caller's tools too."""
    more = tuple(map(_put_before_the_caller, tools))
    brought = frozenset(spec.name for spec in more)
    return with_exits(replace(kit, tools=(*kit.tools, *more), brought=brought), kit.exits)


def facing(graph: Graph, root: Agent) -> Iterator[Agent]:
    """All that may come to speak with the caller of a run."""
    seen, queue = {root.file}, [root.file]
    while queue:
        agent = graph.agents[queue.pop()]
        yield agent
        lead = agent.team.supervisor if agent.team else None
        for file in (*agent.destinations, agent.handoff, lead):
            if file and file not in seen:
                seen.add(file)
                queue.append(file)


def _put_before_the_caller(spec: ToolSpec) -> ToolSpec:
    """Putting a call before somebody changes nothing and may be repeated; whether it is made, and how long that takes,
    is the caller's affair."""
    return replace(spec, effect="pure", access="read", asks="", patient=True)
