"""The tools with which agents write to each other: what they look like, and whom a call of one reaches. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from folkmoot.domain.agent import Agent, Graph, MemberRole
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import A2A_BROADCAST, A2A_SEND, A2A_SPAWN
from folkmoot.domain.value import Value
from folkmoot.orchestration.reach import named_agents
from folkmoot.session.exits import runtime_tool

NEW = "new"
"""Instead of a conversation's id: begin another one."""


class Send(Value, forbid_unknown_fields=True, rename=None):
    to: str
    message: str
    conversation_id: str = ""
    label: str = ""


class Spawn(Value, forbid_unknown_fields=True, rename=None):
    to: str
    message: str
    label: str = ""


class Broadcast(Value, forbid_unknown_fields=True, rename=None):
    message: str
    role: str = ""
    capability: str = ""
    agents: tuple[str, ...] = ()
    conversation_id: str = ""
    label: str = ""

    def reaches(self, name: str, agent: Agent) -> bool:
        """Whatever is asked for must hold."""
        return (
            (not self.role or agent.role == self.role)
            and (not self.capability or self.capability in agent.capabilities)
            and (not self.agents or name in self.agents)
        )


def receivers(graph: Graph) -> dict[str, Agent]:
    """Every agent that can be written to, by its name: who takes only JSON cannot read a message."""
    return {name: agent for name, agent in named_agents(graph).items() if agent.input.format != "json"}


def name_in(graph: Graph, agent: Agent) -> str:
    """How an agent is called in messages; one that no file declares has only its id."""
    named = (name for name, other in receivers(graph).items() if other.file == agent.file)
    return next(named, agent.id)


def message_tools(graph: Graph, agent: Agent) -> dict[str, ToolSpec]:
    """By name, for an agent that may write to all others."""
    others = {name: other for name, other in sorted(receivers(graph).items()) if other.file != agent.file}
    return {
        A2A_SEND: runtime_tool(
            A2A_SEND,
            "Write to another agent; its answer is the result. Writing again goes on with the same "
            f"conversation.{_listed(others)}",
            {"to": _to(others), "message": _MESSAGE, "conversation_id": _CONVERSATION, "label": _LABEL},
            ["to", "message"],
            patient=True,
        ),
        A2A_BROADCAST: runtime_tool(
            A2A_BROADCAST,
            "Write to all agents that fit, at the same time; without role, capability and agents, to everybody. "
            f"The result lists what each answered; one that fails stops no other.{_by_part(others)}",
            {
                "message": _MESSAGE,
                "role": {"type": "string", "enum": list(get_args(MemberRole))},
                "capability": {"type": "string"},
                "agents": {"type": "array", "items": _to(others)},
                "conversation_id": _CONVERSATION,
                "label": _LABEL,
            },
            ["message"],
            patient=True,
        ),
        A2A_SPAWN: runtime_tool(
            A2A_SPAWN,
            "Have another agent do a piece of work for you, as your sub-agent; its result is the result."
            f"{_listed(others)}",
            {"to": _to(others), "message": _MESSAGE, "label": _LABEL},
            ["to", "message"],
            patient=True,
        ),
    }


_MESSAGE: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "description": "The whole message; the agent knows nothing else but what was said in this conversation.",
}
_LABEL: dict[str, Any] = {"type": "string", "description": "A title for people, in a few words."}
_CONVERSATION: dict[str, Any] = {
    "type": "string",
    "description": f"Absent: your conversation of this run; `{NEW}`: another one; or the id of one to go on with.",
}


def _to(others: Mapping[str, Agent]) -> dict[str, Any]:
    return {"type": "string", "enum": list(others)} if others else {"type": "string"}


def _listed(others: Mapping[str, Agent]) -> str:
    return "".join(f"\n- {name}: {other.description}".rstrip(": ") for name, other in others.items())


def _by_part(others: Mapping[str, Agent]) -> str:
    return "".join(
        f"\n- {name}: {', '.join((other.role, *other.capabilities))}" for name, other in others.items()
    )
