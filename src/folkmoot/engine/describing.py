"""An agent of a project as programs read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from folkmoot.domain.agent import Agent, Graph
from folkmoot.engine.admission import against_contract
from folkmoot.loader.bounds import worst_case


def whole(value: Struct) -> Any:
    """Everything that holds, for programs, which know no defaults."""
    return {
        field.encode_name: msgspec.to_builtins(getattr(value, field.name))
        for field in msgspec.structs.fields(value)
    }


def status_of(graph: Graph, agent: Agent) -> str:
    """`ready`, or `refused` if a contract keeps it from running."""
    return "refused" if any(against_contract(graph, agent)) else "ready"


def summary(graph: Graph, agent: Agent) -> dict[str, Any]:
    return {
        "id": agent.id,
        "type": agent.role,
        "capabilities": list(agent.capabilities),
        "tools": list(agent.tools),
        "status": status_of(graph, agent),
        "file": agent.file,
        "description": agent.description,
        "terminal": graph.terminal(agent.file),
    }


def document(graph: Graph, agent: Agent, plain: Callable[[Struct], Any] = whole) -> dict[str, Any]:
    return {
        **summary(graph, agent),
        "usage": agent.usage,
        "remote": agent.remote and plain(agent.remote),
        "advisors": list(agent.advisors),
        "destinations": list(agent.destinations),
        "handoff": agent.handoff,
        "agents": list(agent.agents),
        "team": agent.team and plain(agent.team),
        "chat": agent.chat,
        "referredToBy": sorted(
            other.file for other in graph.agents.values() if agent.file in (to for _, to in other.edges)
        ),
        "models": [choice.ref for choice in agent.models],
        "input": plain(agent.input),
        "output": plain(agent.output),
        "options": plain(agent.tuning),
        "budget": plain(agent.budget),
        "worstCaseModelRequests": worst_case(graph, agent.file),
    }
