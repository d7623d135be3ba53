"""The tools `call_agent` and `call_agents_parallel`: what they look like, and what a model asks with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Agent
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.settings import Strategy
from folkmoot.domain.value import Value
from folkmoot.session.exits import runtime_tool

CALL_AGENT = "call_agent"
CALL_AGENTS_PARALLEL = "call_agents_parallel"
STRATEGIES = get_args(Strategy)
_RUNTIME_ONLY = "_parent_session_id"


class Definition(Value, forbid_unknown_fields=True, rename=None):
    """An agent that the caller makes up."""

    system_prompt: str
    tool_allowlist: tuple[str, ...] | None = None
    """Of the caller's tools only these; absent: all but its agents."""


class Mission(Value, forbid_unknown_fields=True, rename=None):
    mission: str
    specialist: str | None = None
    planning_strategy: str | None = None
    agent_definition: Definition | None = None


class Several(Value, forbid_unknown_fields=True, rename=None):
    missions: tuple[Any, ...]
    """Read one by one: a wrong one fails alone."""
    max_concurrency: int = 3
    min_success: int | None = None


def read_mission(given: object) -> Mission | str:
    """What is asked, or what is wrong with it."""
    if not isinstance(given, dict):
        return "a mission must be a JSON object"
    if _RUNTIME_ONLY in given:
        return f"{_RUNTIME_ONLY} is set by the runtime; leave it out"
    if not isinstance(given.get("mission"), str) or not given["mission"].strip():
        return "Missing required parameter: mission"
    try:
        asked = msgspec.convert(given, Mission)
    except msgspec.ValidationError as error:
        return str(error)
    return _sound(asked)


def read_several(given: dict[str, Any]) -> Several | str:
    if _RUNTIME_ONLY in given:
        return f"{_RUNTIME_ONLY} is set by the runtime; leave it out"
    if not given.get("missions"):
        return "Missing required parameter: missions"
    try:
        asked = msgspec.convert(given, Several)
    except msgspec.ValidationError as error:
        return str(error)
    for name, number in (("max_concurrency", asked.max_concurrency), ("min_success", asked.min_success)):
        if number is not None and number < 1:
            return f"{name} must be at least 1, not {number}"
    return asked


def specs(callable_agents: Mapping[str, Agent], *, approved: bool) -> tuple[ToolSpec, ...]:
    """Both tools for a caller that may call these agents; unless `approved`, a call needs a person's word."""
    mission, asks = _mission_schema(callable_agents), "" if approved else "medium"
    enough = "How many must succeed for the whole to succeed; all by default."
    return (
        runtime_tool(
            CALL_AGENT,
            f"Have another agent fulfil a mission, and read its result.{_listed(callable_agents)}",
            mission["properties"],
            mission["required"],
            asks=asks,
            patient=True,
        ),
        runtime_tool(
            CALL_AGENTS_PARALLEL,
            "Have several agents fulfil missions at the same time, as with call_agent. The results "
            "stand in the order of the missions; one that fails stops no other.",
            {
                "missions": {"type": "array", "items": mission, "minItems": 1},
                "max_concurrency": {"type": "integer", "minimum": 1, "default": 3},
                "min_success": {"type": "integer", "minimum": 1, "description": enough},
            },
            ["missions"],
            asks=asks,
            patient=True,
        ),
    )


def _sound(asked: Mission) -> Mission | str:
    if asked.agent_definition and not asked.agent_definition.system_prompt.strip():
        return "agent_definition.system_prompt is empty"
    strategy = (asked.planning_strategy or "").lower().replace("-", "_") or None
    if strategy not in (None, *STRATEGIES):
        return f"planning_strategy must be one of {', '.join(STRATEGIES)}, not {asked.planning_strategy!r}"
    specialist = (asked.specialist or "").strip() or None
    return replace(asked, planning_strategy=strategy, specialist=specialist)


def _listed(callable_agents: Mapping[str, Agent]) -> str:
    lines = [
        f"\n- {name}: {agent.description}".rstrip(": \n") for name, agent in sorted(callable_agents.items())
    ]
    known = f" Its specialists are:{''.join(lines)}" if lines else ""
    made = "Without a specialist a general agent does it; with agent_definition one that you make up."
    return f"{known}\n{made}"


def _mission_schema(callable_agents: Mapping[str, Agent]) -> dict[str, Any]:
    specialist = {
        "specialist": {
            "type": "string",
            "enum": sorted(callable_agents),
            "description": "The id of the agent that shall do it.",
        }
    }
    return {
        "type": "object",
        "properties": {
            "mission": {"type": "string", "description": "The whole mission; the agent knows nothing else."},
            **(specialist if callable_agents else {}),
            "planning_strategy": {
                "type": "string",
                "enum": list(STRATEGIES),
                "description": "How the agent goes about it; absent: as its file says.",
            },
            "agent_definition": {
                "type": "object",
                "description": "An agent of your own making, instead of a specialist.",
                "properties": {
                    "system_prompt": {"type": "string", "description": "Who the agent is and what it does."},
                    "tool_allowlist": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Which of your own tools it has.",
                    },
                },
                "required": ["system_prompt"],
                "additionalProperties": False,
            },
        },
        "required": ["mission"],
        "additionalProperties": False,
    }
