"""What a session of an agent is offered: its tools, its agents as tools, and its exits."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent, Graph
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import agent_tool
from folkmoot.domain.text import estimated_tokens
from folkmoot.domain.value import Value
from folkmoot.orchestration.chats import ask_tool
from folkmoot.ports import Tools
from folkmoot.session.exits import final_report, route


class Kit(Value):
    tools: tuple[ToolSpec, ...]
    exits: tuple[ToolSpec, ...]
    offered: tuple[ToolSpec, ...]
    agents: dict[str, Agent]
    """The agents among the tools, by their name on the wire."""
    schema_tokens: int
    unlisted: tuple[ToolSpec, ...] = ()
    """Asking back, for an agent that may have children: offered only while one is kept."""


class Kits:
    """One kit per agent, made once: the same objects every turn and every run, so that they are encoded once."""

    def __init__(self, graph: Graph, tools: Tools) -> None:
        self._graph = graph
        self._tools = tools
        self._kits: dict[str, Kit] = {}
        self._again: dict[str, Kit] = {}

    def of(self, agent: Agent, *, again: bool = False) -> Kit:
        """With `again`, for a conversation that goes on: who is asked back answers, and routes nowhere."""
        kits = self._again if again else self._kits
        if agent.file not in kits:
            kits[agent.file] = self._make(replace(agent, destinations=()) if again else agent)
        return kits[agent.file]

    def _make(self, agent: Agent) -> Kit:
        called = [self._graph.agents[file] for file in agent.agents]
        specs = [_as_tool(other) for other in called]
        tools = (*self._tools.specs(agent.tools), *specs)
        exits = self._exits(agent)
        offered = (*tools, *exits)
        return Kit(
            tools=tools,
            exits=exits,
            offered=offered,
            agents={spec.name: other for spec, other in zip(specs, called, strict=True)},
            schema_tokens=estimated_tokens(msgspec.json.encode(offered).decode()),
            unlisted=(ask_tool(()),) if agent.agents or agent.advisors else (),
        )

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
