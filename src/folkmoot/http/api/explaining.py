"""What an agent may call, and why; and what the gate would say to a call."""

from __future__ import annotations

from typing import Any

from folkmoot.domain.message import ToolCall
from folkmoot.domain.naming import wire_name
from folkmoot.errors import NotFound
from folkmoot.http.api.agents import agent_of
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.requests import Given, Words
from folkmoot.orchestration.briefs import Explanation, explain


class ExplainQuery(Given):
    tool: str = ""
    """Only this one, as agent files name it."""


class JudgeCall(Given):
    tool: Words
    """As agent files name it."""
    arguments: dict[str, Any] = {}


async def explain_agent(asked: Asked) -> Explanation:
    """Its tools, the rules about them, and when a call asks first; with the files that this server runs agents with."""
    return _explained(asked, asked.query.tool)


async def judge_call(asked: Asked) -> Explanation:
    """The `decision` on that very call, in a session that has read nothing yet. Nothing is called, nor recorded."""
    body: JudgeCall = asked.body
    return _explained(asked, body.tool, ToolCall("", wire_name(body.tool), body.arguments))


def _explained(asked: Asked, tool: str, call: ToolCall | None = None) -> Explanation:
    agent = agent_of(asked)
    explained = explain(asked.moot.graph, asked.moot.kits, agent, tool, call)
    if tool and not explained.tools:
        raise NotFound(f"{agent.file} has no tool {tool!r}", code="tool_not_found")
    return explained


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/agents/{id}/explain",
        summary="What an agent may call, and why",
        handle=explain_agent,
        query=ExplainQuery,
        answer=Explanation,
    ),
    Endpoint(
        method="POST",
        path="/agents/{id}/explain",
        summary="What the gate would say to a call",
        handle=judge_call,
        body=JudgeCall,
        answer=Explanation,
    ),
)
