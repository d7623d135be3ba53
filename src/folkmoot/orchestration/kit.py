"""What a session of an agent is offered: its tools, its agents as tools, and its exits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.entry import Cause
from folkmoot.domain.gate import Approver, Policy
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import ASK_PARENT, GROUPS, agent_tool, wire_name, writes
from folkmoot.domain.report import ROUTE
from folkmoot.domain.text import estimated_tokens
from folkmoot.domain.value import Value
from folkmoot.orchestration import mission
from folkmoot.orchestration.a2a_tools import message_tools
from folkmoot.orchestration.chats import ask_tool
from folkmoot.orchestration.question import QUESTION_TOOLS
from folkmoot.orchestration.reach import Reach, callable_by
from folkmoot.ports import Tools
from folkmoot.session.exits import final_report, leads_broadcast, members_broadcast, route, runtime_tool


class Kit(Value):
    tools: tuple[ToolSpec, ...]
    exits: tuple[ToolSpec, ...]
    offered: tuple[ToolSpec, ...]
    agents: dict[str, Agent]
    """The agents among the tools, by their name on the wire."""
    callable: dict[str, Agent]
    """The agents that `call_agent` may call, by the name a model calls them."""
    schema_tokens: int
    unlisted: tuple[ToolSpec, ...] = ()
    """Asking back, for an agent that may have children: offered only while one is kept."""
    last_exits: tuple[ToolSpec, ...] = ()
    """What is left of the exits in the last turn; absent: all of them."""
    brought: frozenset[str] = frozenset()
    """Those of the tools that the caller of the run brought along."""


_OPEN, _STRICT = Reach(), Reach(strict=True)


class Kits:
    """One kit per agent and reach, made once: the same objects every turn and every run, so that they are
    encoded once."""

    def __init__(self, graph: Graph, tools: Tools) -> None:
        self._graph = graph
        self._tools = tools
        self._calling = graph.settings.orchestration.enable_agent_tool
        self._approved = graph.settings.orchestration.auto_approve
        self._kits: dict[tuple[str | Reach, ...], Kit] = {}
        self.policies: dict[tuple[int, Approver, int], Policy] = {}
        """What the gate goes by, by kit, who is above and the behavior of the run; a kit lives as long as this."""

    def of(self, agent: Agent, reach: Reach = Reach(), cause: Cause = "") -> Kit:
        """`cause`: who is asked again answers, and routes nowhere; only who was called has a parent to ask."""
        told = self._told(reach)
        key = (agent.file, cause, told)
        if key not in self._kits:
            self._kits[key] = self._make(_as_started(agent, cause), told)
        return self._kits[key]

    def _told(self, reach: Reach) -> Reach:
        """Only what makes a difference to a kit."""
        if self._calling:
            return replace(reach, taint=(), work_dir="") if reach.taint or reach.work_dir else reach
        if reach.allowlist is None and reach.only is None:
            return _STRICT if reach.strict else _OPEN
        return replace(reach, taint=(), above=(), work_dir="")

    def of_member(self, team: Agent, agent: Agent, reach: Reach) -> Kit:
        """The agent in this team: it broadcasts, or routes, and never reports."""
        key = (team.file, "member", agent.file, self._told(reach))
        if key not in self._kits:
            others = [id for id in self._people(team) if id != agent.id]
            own = self.of(agent, reach)
            routes = (spec for spec in own.exits if spec.name == ROUTE)
            self._kits[key] = with_exits(own, (*routes, members_broadcast(", ".join(others))))
        return self._kits[key]

    def of_lead(self, team: Agent, agent: Agent, reach: Reach) -> Kit:
        """The agent as the lead of this team: it broadcasts too, but in its last turn it can only report."""
        key = (team.file, "lead", agent.file, self._told(reach))
        if key not in self._kits:
            own = self.of(agent, reach)
            said = leads_broadcast(", ".join(self._people(team)[:-1]))
            self._kits[key] = replace(with_exits(own, (*own.exits, said)), last_exits=own.exits)
        return self._kits[key]

    def _people(self, team: Agent) -> list[str]:
        """The ids of all in a team, its lead last."""
        assert team.team is not None
        files = (*team.team.members, team.team.supervisor or team.file)
        return [self._graph.agents[file].id for file in files]

    def on_the_wire(self, names: Iterable[str]) -> set[str]:
        """What these names stand for, written as in files or as on the wire."""
        names = map(self._graph.tool_name, names)
        named = tuple(each for name in names for each in GROUPS.get(name, (name,)))
        return {wire_name(name) for name in named} | {spec.name for spec in self._tools.specs(named)}

    @cached_property
    def version(self) -> str:
        """Changes when any agent file does."""
        return sha256(msgspec.json.encode(self._graph.agents, order="deterministic")).hexdigest()

    def _make(self, agent: Agent, reach: Reach) -> Kit:
        called = [self._graph.agents[file] for file in (() if reach.strict else agent.agents)]
        specs = [_as_tool(other) for other in called]
        calling = self._calling and not reach.strict
        callable = callable_by(self._graph, agent, reach) if calling else {}
        missions = mission.specs(callable, approved=self._approved) if calling else ()
        bare = Kit(
            tools=self._narrowed((*self._own(agent, reach), *specs, *missions), reach),
            exits=(),
            offered=(),
            agents={spec.name: other for spec, other in zip(specs, called, strict=True)},
            callable=callable,
            schema_tokens=0,
            unlisted=(ask_tool(()),) if called or agent.advisors or callable or writes(agent.tools) else (),
        )
        return with_exits(bare, self._exits(replace(agent, destinations=()) if reach.strict else agent))

    def _named(self, name: str, messages: Mapping[str, ToolSpec]) -> tuple[ToolSpec, ...]:
        if name in QUESTION_TOOLS:
            return (QUESTION_TOOLS[name],)
        if writes([name]):
            return tuple(messages[each] for each in GROUPS.get(name, (name,)) if each in messages)
        return self._tools.specs([name])

    def _own(self, agent: Agent, reach: Reach) -> tuple[ToolSpec, ...]:
        writing = writes(agent.tools) and not reach.strict
        messages = message_tools(self._graph, agent) if writing else {}
        declared = tuple(each for name in agent.tools for each in self._named(name, messages))
        if reach.allowlist is None:
            return declared
        allowed = self.on_the_wire(reach.allowlist)
        return tuple(spec for spec in declared if spec.name in allowed)

    def _narrowed(self, tools: tuple[ToolSpec, ...], reach: Reach) -> tuple[ToolSpec, ...]:
        if reach.only is None:
            return tools
        return tuple(spec for spec in tools if spec.name in reach.only)

    def _exits(self, agent: Agent) -> tuple[ToolSpec, ...]:
        if not agent.destinations:
            return (final_report(agent),)
        destinations = (self._graph.agents[file] for file in agent.destinations)
        return (final_report(agent), route(tuple((other.id, other.description) for other in destinations)))


def bare_kit() -> Kit:
    """Nothing at all: what is said is the answer."""
    return Kit(tools=(), exits=(), offered=(), agents={}, callable={}, schema_tokens=0)


def part_kit(tools: tuple[ToolSpec, ...], exits: tuple[ToolSpec, ...]) -> Kit:
    """For a session that does a part of an agent's work."""
    return with_exits(replace(bare_kit(), tools=tools), exits)


def _as_started(agent: Agent, cause: Cause) -> Agent:
    if cause == "clarify":
        agent = replace(agent, destinations=())
    if cause == "sub":
        return agent
    return replace(agent, tools=tuple(name for name in agent.tools if name != ASK_PARENT))


def with_exits(kit: Kit, exits: tuple[ToolSpec, ...]) -> Kit:
    offered = (*kit.tools, *exits)
    tokens = estimated_tokens(msgspec.json.encode(offered).decode())
    return replace(kit, exits=exits, offered=offered, schema_tokens=tokens)


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


FACING = ("route", "handoff", "lead")
"""How one that speaks with the caller passes the caller on."""


def beside(kit: Kit, tools: Sequence[ToolSpec]) -> Kit:
    """A kit with the tools that the caller of the run brings along. Only agents that speak with the caller have them:
    everybody else works for another agent, with what its own file names."""
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
