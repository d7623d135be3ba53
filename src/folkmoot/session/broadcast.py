"""The exit of a team: what is said to all others ends a member's, or its lead's, part of a cycle. Pure."""

from __future__ import annotations

from typing import Any, Literal

from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.domain.report import BROADCAST, Broadcast
from folkmoot.domain.value import Value
from folkmoot.session.exits import Refusal, read_arguments

SENT = "Sent. The others read it before their next turn."
NOT_SENT = "(not sent: one broadcast ends your part of the cycle; say the rest in your next one)"


class _Arguments(Value, forbid_unknown_fields=True):
    message: str
    final: bool = False
    outcome: Literal["", "success", "failure"] = ""


def members_broadcast(others: str) -> ToolSpec:
    """`others` names who will read it."""
    return _spec(
        f"Tell your team what you have found or done: {others}. It ends your part of this cycle; what the others "
        "say reaches you before your next turn. With `final` you leave the team for good.",
        {
            "final": {"type": "boolean", "description": "True when you have nothing more to do."},
            "outcome": {
                "type": "string",
                "enum": ["success", "failure"],
                "description": "Only with `final`: whether you did your part.",
            },
        },
    )


def leads_broadcast(members: str) -> ToolSpec:
    return _spec(
        f"Tell the members of your team what to do next: {members}. Each that is still there then takes its next "
        "part, and you read what they say. When the work is done, give your final report instead.",
        {},
    )


def judge_broadcast(spec: ToolSpec, call: ToolCall, position: int) -> Broadcast | Refusal:
    said = read_arguments(call, _Arguments)
    if isinstance(said, Refusal):
        return said
    if not said.message.strip():
        return Refusal(reason="message is empty")
    if said.final and "final" not in spec.parameters["properties"]:
        return Refusal(reason="a lead ends its team with agent__final_report, not with a final broadcast")
    if said.outcome and not said.final:
        return Refusal(reason="outcome belongs to a final broadcast; set final to true, or leave it out")
    outcome = said.outcome or ("success" if said.final else "")
    return Broadcast(message=said.message, final=said.final, outcome=outcome, call=position)


def judge_said(text: str) -> Broadcast | Refusal:
    """Plain text without tool calls is adopted as a broadcast."""
    if not text.strip():
        return Refusal(reason=f"your answer was empty: call a tool, or tell your team with {BROADCAST}")
    return Broadcast(message=text)


def _spec(description: str, more: dict[str, Any]) -> ToolSpec:
    return ToolSpec(
        name=BROADCAST,
        description=description,
        parameters={
            "type": "object",
            "properties": {"message": {"type": "string", "minLength": 1}, **more},
            "required": ["message"],
            "additionalProperties": False,
        },
        effect="pure",
        access="read",
    )
