"""What a session of an agent is offered: its tools, its agents as tools, and its exits; and what holds for it because
of those above it: whom it may not call, and which tools it may not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.entry import Cause
from folkmoot.domain.gate import Approver, Policy
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import ASK_PARENT, GROUPS, MEMORY_READ, agent_tool, wire_name, writes
from folkmoot.domain.report import ROUTE
from folkmoot.domain.sources import Sources
from folkmoot.domain.text import estimated_tokens
from folkmoot.domain.value import Value
from folkmoot.orchestration.runtime_tools import (
    ASKING_AGENTS,
    QUESTION_TOOLS,
    clarification_tool,
    message_tools,
    mission_tools,
)
from folkmoot.ports import Tools
from folkmoot.session.exits import (
    Toolset,
    final_report,
    leads_broadcast,
    members_broadcast,
    route,
    runtime_tool,
)

CUSTOM = "custom"
"""The id of every agent that no file declares."""
FACING = ("route", "handoff", "lead")
"""How one that speaks with the caller of the run passes the caller on."""
_WRITTEN_BY_OTHERS = frozenset(("task_status", "task_list", "task_pick_backlog", MEMORY_READ))
"""They show what other agents may have written."""


class InheritedLimits(Value):
    """What a session inherits from those above it."""

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

    def below(self, agent: Agent) -> InheritedLimits:
        """For whatever `agent` starts."""
        return replace(self, above=(*self.above, agent.file), only=None)


class SessionToolset(Toolset):
    """What a session is offered, and what stands behind it."""

    agents: dict[str, Agent] = {}
    """The agents among the tools, by their name on the wire."""
    callable: dict[str, Agent] = {}
    """The agents that `call_agent` may call, by the name a model calls them."""
    brought: frozenset[str] = frozenset()
    """Those of the tools that the caller of the run brought along."""

    @property
    def untrusted(self) -> frozenset[str]:
        """What the caller of the run brought along answers for itself."""
        return frozenset(spec.name for spec in self.tools if spec.untrusted) | self.brought

    def outside(self, graph: Graph) -> frozenset[str]:
        """The same for runs of 0.1.0: tools that reach another machine, a server that is no part of the project,
        another agent, the caller of the run, or what one noted in an earlier run."""
        mcp = (name for name, source in graph.settings.tools.items() if source.kind == "mcp")
        servers = tuple(wire_name(f"{name}.") for name in mcp)
        reaching = (
            spec.name for spec in self.tools if spec.access == "egress" or spec.name.startswith(servers)
        )
        return frozenset(reaching) | ASKING_AGENTS | _WRITTEN_BY_OTHERS | {*self.agents} | self.brought

    def with_exits(self, exits: tuple[ToolSpec, ...]) -> SessionToolset:
        offered = (*self.tools, *exits)
        tokens = estimated_tokens(msgspec.json.encode(offered).decode())
        return replace(self, exits=exits, offered=offered, schema_tokens=tokens)

    def beside(self, tools: Sequence[ToolSpec]) -> SessionToolset:
        """With the tools that the caller of the run brings along. Only agents that speak with the caller have them:
        everybody else works for another agent, with what its own file names.

        Putting a call before the caller changes nothing and may be repeated; whether it is made, and how long that
        takes, is the caller's affair."""
        more = tuple(replace(spec, effect="pure", access="read", asks="", patient=True) for spec in tools)
        brought = frozenset(spec.name for spec in more)
        return replace(self, tools=(*self.tools, *more), brought=brought).with_exits(self.exits)


def build_part_toolset(tools: tuple[ToolSpec, ...], exits: tuple[ToolSpec, ...]) -> SessionToolset:
    """For a session that does a part of an agent's work."""
    return SessionToolset(tools).with_exits(exits)


_OPEN, _STRICT = InheritedLimits(), InheritedLimits(strict=True)


class ToolsetFactory:
    """One kit per agent and reach, made once: the same objects every turn and every run, so that they are
    encoded once."""

    def __init__(self, graph: Graph, tools: Tools) -> None:
        self._graph = graph
        self._tools = tools
        self._calling = graph.settings.orchestration.enable_agent_tool
        self._kits: dict[tuple[str | InheritedLimits, ...], SessionToolset] = {}
        self.policies: dict[tuple[int, Approver, int], Policy] = {}
        """What the gate goes by, by kit, who is above and the behavior of the run; a kit lives as long as this."""

    def of(
        self, agent: Agent, reach: InheritedLimits = InheritedLimits(), cause: Cause = ""
    ) -> SessionToolset:
        """`cause`: who is asked again answers, and routes nowhere; only who was called has a parent to ask."""
        told = self._told(reach)
        key = (agent.file, cause, told)
        if key not in self._kits:
            self._kits[key] = self._make(_restrict_agent(agent, cause), told)
        return self._kits[key]

    def in_team(
        self, team: Agent, agent: Agent, cause: Cause, reach: InheritedLimits = InheritedLimits()
    ) -> SessionToolset:
        """A member broadcasts, or routes, and never reports; the lead broadcasts too, but in its last turn it can only
        report."""
        key = (team.file, cause, agent.file, self._told(reach))
        if key not in self._kits:
            assert team.team is not None
            files = (*team.team.members, team.team.supervisor or team.file)
            ids, own = [self._graph.agents[file].id for file in files], self.of(agent, reach)
            if cause == "lead":
                said = leads_broadcast(", ".join(ids[:-1]))
                kit = replace(own.with_exits((*own.exits, said)), last_exits=own.exits)
            else:
                said = members_broadcast(", ".join(id for id in ids if id != agent.id))
                kit = own.with_exits((*(spec for spec in own.exits if spec.name == ROUTE), said))
            self._kits[key] = kit
        return self._kits[key]

    def _told(self, reach: InheritedLimits) -> InheritedLimits:
        """Only what makes a difference to a kit."""
        if self._calling:
            return replace(reach, taint=(), work_dir="") if reach.taint or reach.work_dir else reach
        if reach.allowlist is None and reach.only is None:
            return _STRICT if reach.strict else _OPEN
        return replace(reach, taint=(), above=(), work_dir="")

    def on_the_wire(self, names: Iterable[str]) -> set[str]:
        """What these names stand for, written as in files or as on the wire."""
        names = map(self._graph.tool_name, names)
        named = tuple(each for name in names for each in GROUPS.get(name, (name,)))
        return {wire_name(name) for name in named} | {spec.name for spec in self._tools.specs(named)}

    @cached_property
    def version(self) -> str:
        """Changes when any agent file does."""
        return sha256(msgspec.json.encode(self._graph.agents, order="deterministic")).hexdigest()

    def _make(self, agent: Agent, reach: InheritedLimits) -> SessionToolset:
        if reach.strict:
            agent = replace(agent, agents=(), destinations=())
        called = [self._graph.agents[file] for file in agent.agents]
        specs = [_as_tool(other) for other in called]
        calling = self._calling and not reach.strict
        callable = find_callable_agents(self._graph, agent, reach) if calling else {}
        approved = self._graph.settings.orchestration.auto_approve
        missions = mission_tools(callable, approved=approved) if calling else ()
        tools = (*self._own(agent, reach), *specs, *missions)
        asks = called or agent.advisors or callable or writes(agent.tools)
        kit = SessionToolset(
            tools=tuple(spec for spec in tools if reach.only is None or spec.name in reach.only),
            agents={spec.name: other for spec, other in zip(specs, called, strict=True)},
            callable=callable,
            hidden=(clarification_tool(()),) if asks else (),
        )
        return kit.with_exits(self._exits(agent))

    def _own(self, agent: Agent, reach: InheritedLimits) -> tuple[ToolSpec, ...]:
        messages: dict[str, ToolSpec] = {}
        if writes(agent.tools) and not reach.strict:
            known = sorted(find_message_receivers(self._graph).items())
            messages = message_tools({name: other for name, other in known if other.file != agent.file})
        declared = tuple(each for name in agent.tools for each in self._named(name, messages))
        if reach.allowlist is None:
            return declared
        allowed = self.on_the_wire(reach.allowlist)
        return tuple(spec for spec in declared if spec.name in allowed)

    def _named(self, name: str, messages: dict[str, ToolSpec]) -> tuple[ToolSpec, ...]:
        if name in QUESTION_TOOLS:
            return (QUESTION_TOOLS[name],)
        if writes([name]):
            return tuple(messages[each] for each in GROUPS.get(name, (name,)) if each in messages)
        return self._tools.specs([name])

    def _exits(self, agent: Agent) -> tuple[ToolSpec, ...]:
        if not agent.destinations:
            return (final_report(agent),)
        destinations = (self._graph.agents[file] for file in agent.destinations)
        return (final_report(agent), route(tuple((other.id, other.description) for other in destinations)))


def _restrict_agent(agent: Agent, cause: Cause) -> Agent:
    if cause == "clarify":
        agent = replace(agent, destinations=())
    if cause == "sub":
        return agent
    return replace(agent, tools=tuple(name for name in agent.tools if name != ASK_PARENT))


def _as_tool(agent: Agent) -> ToolSpec:
    described = agent.description or f"Ask the agent {agent.id}."
    return runtime_tool(
        agent_tool(agent.tool_name or agent.id),
        f"{described}\n{agent.usage}".strip(),
        {
            "prompt": {"type": "string", "description": "The whole request; the agent knows nothing else."},
            "reason": {"type": "string", "description": "A short title that says why you ask."},
            "format": {"type": "string", "enum": [agent.output.format]},
        },
        ["prompt", "reason"],
        access="egress" if agent.remote else "read",
        patient=True,
    )


def list_client_facing(graph: Graph, root: Agent) -> Iterator[Agent]:
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


def is_strict(graph: Graph, root: Agent) -> bool:
    """Whether a run of this agent is under contract as a whole."""
    return "strict" in (graph.settings.contract, root.contract)


def named_agents(graph: Graph) -> dict[str, Agent]:
    """Every agent of the project by the name a model calls it: its id, or its file where two share an id."""
    times = Counter(agent.id for agent in graph.agents.values())
    return {agent.id if times[agent.id] == 1 else agent.file: agent for agent in graph.agents.values()}


def find_callable_agents(graph: Graph, agent: Agent, reach: InheritedLimits) -> dict[str, Agent]:
    """Every agent but the caller and those it runs below."""
    barred = {agent.file, *reach.above}
    return {name: other for name, other in named_agents(graph).items() if other.file not in barred}


def find_message_receivers(graph: Graph) -> dict[str, Agent]:
    """Every agent that can be written to, by its name: who takes only JSON cannot read a message."""
    return {name: agent for name, agent in named_agents(graph).items() if agent.input.format != "json"}


def name_in_messages(graph: Graph, agent: Agent) -> str:
    """How an agent is called in messages; one that no file declares has only its id."""
    named = (name for name, other in find_message_receivers(graph).items() if other.file == agent.file)
    return next(named, agent.id)


def describe_call_path(graph: Graph, agent: Agent, reach: InheritedLimits) -> str:
    """The ids of all agents from the root down to this one."""
    known = (graph.agents.get(file) for file in reach.above)
    return " -> ".join([*(other.id if other else CUSTOM for other in known), agent.id])
