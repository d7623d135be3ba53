"""The agents of a project as tools: how they are called, what they take, what they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from mcp_types import Tool

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.engine.admission import offered as by_name
from folkmoot.errors import WrongUse

RESUME = "folkmoot__resume"
"""Goes on with a run that waited; no agent may be called so."""


def offered(moot: Folkmoot, only: Sequence[str] = ()) -> dict[str, Agent]:
    """The agents that clients may call, by the names of their tools; `only` some, by file or id. Raises `WrongUse`."""
    agents = [moot.agent(name) for name in only] or list(moot.graph.agents.values())
    if not agents:
        raise WrongUse(f"there are no agents in {moot.folder}; name the folder of a project with --project")
    return by_name(agents, (RESUME,))


def tool_of(name: str, agent: Agent) -> Tool:
    about = "\n\n".join(filter(None, (agent.description, agent.usage)))
    return Tool(
        name=name,
        title=agent.id,
        description=about or f"Runs the agent {agent.id}.",
        input_schema=_input_schema(agent),
        output_schema=_output_schema(agent),
    )


RESUME_TOOL = Tool(
    name=RESUME,
    title="Resume a run",
    description="Goes on with a run that waited for a person, after what it waited for was answered, "
    "or with one that was interrupted.",
    input_schema={
        "type": "object",
        "properties": {"run": {"type": "string", "description": "The id of the run."}},
        "required": ["run"],
        "additionalProperties": False,
    },
)


def request_of(agent: Agent, arguments: Mapping[str, Any]) -> str:
    """What the agent is asked. Raises `WrongUse`; whether it fits the agent's schema, the run finds out."""
    if _takes_object(agent):
        return msgspec.json.encode(arguments).decode()
    if arguments.keys() != {"request"}:
        raise WrongUse(f"{agent.id} takes one argument, `request`, not {sorted(arguments) or 'none'}")
    request = arguments["request"]
    if agent.input.format == "json":
        return msgspec.json.encode(request).decode()
    if not isinstance(request, str):
        raise WrongUse(f"the `request` of {agent.id} is a text, not {request!r}")
    return request


def _takes_object(agent: Agent) -> bool:
    """Whether its own schema can be that of a tool, whose arguments are always an object."""
    return agent.input.format == "json" and _is_object(agent.input.schema)


def _input_schema(agent: Agent) -> dict[str, Any]:
    schema = agent.input.schema
    if schema and _takes_object(agent):
        return schema
    plain = {"type": "string"} if agent.input.format == "text" else schema or {}
    return {
        "type": "object",
        "properties": {"request": {"description": "What the agent is asked.", **plain}},
        "required": ["request"],
        "additionalProperties": False,
    }


def _output_schema(agent: Agent) -> dict[str, Any] | None:
    """Promised only by an agent whose own report is the answer; and older clients know objects alone."""
    own = agent.terminal and (agent.team is None or agent.team.supervisor in (None, agent.file))
    promised = own and agent.output.format == "json" and _is_object(agent.output.schema)
    return agent.output.schema if promised else None


def _is_object(schema: Mapping[str, Any] | None) -> bool:
    return schema is not None and schema.get("type") == "object"
