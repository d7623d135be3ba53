"""What holds for a session because of those above it: whom it may not call, and which tools it may not have."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.sources import Sources
from folkmoot.domain.value import Value

CUSTOM = "custom"
"""The id of every agent that no file declares."""


class Reach(Value):
    above: tuple[str, ...] = ()
    """The files of all agents that this one runs below, the root first."""
    allowlist: tuple[str, ...] | None = None
    """Of all tools only these, by their names in files: for a called agent and everything below it."""
    only: tuple[str, ...] | None = None
    """Of everything its caller has only these, by their names on the wire: for an agent made at run time."""
    strict: bool = False
    """Nothing passes between agents but plans under contract: no agent is offered, and no route."""
    taint: Sources = ()
    """What those above had read when they asked for it."""
    work_dir: str = ""
    """Where the tools of a called agent, and of everything below it, work; empty: in the project."""

    def below(self, agent: Agent) -> Reach:
        """For whatever `agent` starts."""
        return replace(self, above=(*self.above, agent.file), only=None)


def is_strict(graph: Graph, root: Agent) -> bool:
    """Whether a run of this agent is under contract as a whole."""
    return "strict" in (graph.settings.contract, root.contract)


def named_agents(graph: Graph) -> dict[str, Agent]:
    """Every agent of the project by the name a model calls it: its id, or its file where two share an id."""
    times = Counter(agent.id for agent in graph.agents.values())
    return {agent.id if times[agent.id] == 1 else agent.file: agent for agent in graph.agents.values()}


def callable_by(graph: Graph, agent: Agent, reach: Reach) -> dict[str, Agent]:
    """Every agent but the caller and those it runs below."""
    barred = {agent.file, *reach.above}
    return {name: other for name, other in named_agents(graph).items() if other.file not in barred}


def path_to(graph: Graph, agent: Agent, reach: Reach) -> str:
    """The ids of all agents from the root down to this one."""
    known = (graph.agents.get(file) for file in reach.above)
    return " -> ".join([*(other.id if other else CUSTOM for other in known), agent.id])
