"""What a session of an agent is offered: its tools, its agents as tools, and its exits."""

from __future__ import annotations

import msgspec

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import ASK_USER, agent_tool
from folkmoot.domain.text import estimated_tokens
from folkmoot.domain.value import Value
from folkmoot.ports import Tools
from folkmoot.session.exits import final_report, route


class Kit(Value):
    tools: tuple[ToolSpec, ...]
    exits: tuple[ToolSpec, ...]
    offered: tuple[ToolSpec, ...]
    agents: dict[str, Agent]
    """The agents among the tools, by their name on the wire."""
    schema_tokens: int


class Kits:
    """One kit per agent, made once: the same objects every turn and every run, so that they are encoded once."""

    def __init__(self, graph: Graph, tools: Tools) -> None:
        self._graph = graph
        self._tools = tools
        self._kits: dict[str, Kit] = {}

    def of(self, agent: Agent) -> Kit:
        if agent.file not in self._kits:
            self._kits[agent.file] = self._make(agent)
        return self._kits[agent.file]

    def _make(self, agent: Agent) -> Kit:
        called = [self._graph.agents[file] for file in agent.agents]
        specs = [_as_tool(other) for other in called]
        named = (each for name in agent.tools for each in self._named(name))
        tools = (*named, *specs)
        exits = self._exits(agent)
        offered = (*tools, *exits)
        return Kit(
            tools=tools,
            exits=exits,
            offered=offered,
            agents={spec.name: other for spec, other in zip(specs, called, strict=True)},
            schema_tokens=estimated_tokens(msgspec.json.encode(offered).decode()),
        )

    def _named(self, name: str) -> tuple[ToolSpec, ...]:
        return (_ASK_USER,) if name == ASK_USER else self._tools.specs([name])

    def _exits(self, agent: Agent) -> tuple[ToolSpec, ...]:
        if not agent.destinations:
            return (final_report(agent),)
        destinations = (self._graph.agents[file] for file in agent.destinations)
        return (final_report(agent), route(tuple((other.id, other.description) for other in destinations)))


def _as_tool(agent: Agent) -> ToolSpec:
    described = agent.description or f"Ask the agent {agent.id}."
    return ToolSpec(
        name=agent_tool(agent.tool_name or agent.id),
        description=f"{described}\n{agent.usage}".strip(),
        parameters={
            "type": "object",
            "properties": {
                "prompt": {
                    "type": "string",
                    "description": "The whole request; the agent knows nothing else.",
                },
                "reason": {"type": "string", "description": "A short title that says why you ask."},
                "format": {"type": "string", "enum": [agent.output.format]},
            },
            "required": ["prompt", "reason"],
            "additionalProperties": False,
        },
        effect="pure",
        access="read",
        patient=True,
    )


_ASK_USER = ToolSpec(
    name=ASK_USER,
    description="Ask a person. Their answer is the result; it may take long, so ask only what you cannot find out.",
    parameters={
        "type": "object",
        "properties": {
            "question": {
                "type": "string",
                "description": "The whole question; the person knows nothing of your conversation.",
            }
        },
        "required": ["question"],
        "additionalProperties": False,
    },
    effect="pure",
    access="read",
    patient=True,
)
