"""The tools with which an agent asks somebody while it works: what they look like, and what a call of one asks."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from folkmoot.domain.message import ToolCall, ToolResult, ToolSpec
from folkmoot.domain.naming import ASK_PARENT, ASK_USER
from folkmoot.session.exits import runtime_tool

T = TypeVar("T")


def _asking(name: str, description: str, hint: str) -> ToolSpec:
    question = {"question": {"type": "string", "description": hint}}
    return runtime_tool(name, description, question, ["question"], patient=True)


QUESTION_TOOLS = {
    ASK_USER: _asking(
        ASK_USER,
        "Ask a person. Their answer is the result; it may take long, so ask only what you cannot find out.",
        "The whole question; the person knows nothing of your conversation.",
    ),
    ASK_PARENT: _asking(
        ASK_PARENT,
        "Ask the agent that called you and waits for you. Its answer is the result.",
        "The whole question; the agent knows what it asked of you, and nothing of what you did since.",
    ),
}
"""By name, the same in files and on the wire."""


def read_call(call: ToolCall, form: type[T]) -> T | ToolResult:
    """What a call of a tool of the runtime asks, or what its model reads instead."""
    try:
        return msgspec.convert(call.arguments, form)
    except msgspec.ValidationError as error:
        return ToolResult(text=str(error), failed=True)


def question_of(call: ToolCall) -> str:
    """What a call of one of them asks; empty if its arguments are not one text."""
    question = call.arguments.get("question")
    sound = isinstance(question, str) and question.strip() and set(call.arguments) == {"question"}
    return str(question) if sound else ""


def wrong_arguments(call: ToolCall) -> str:
    return f"{call.tool} takes one argument, `question`, a text"
