"""What OpenAI's clients ask for in the Responses API: the body, and what of it cannot be had here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from folkmoot.domain.agent import Agent
from folkmoot.domain.message import ToolSpec
from folkmoot.http.doors.conversation import Said
from folkmoot.http.doors.openai_request import (
    ROLES,
    Content,
    Format,
    FunctionTool,
    chosen_by_the_agent,
    require_format,
    text_of,
    tool_of,
)
from folkmoot.http.doors.reading import apart, call
from folkmoot.http.doors.wrong import Wrong

PREFIX = "resp_"


class Item(msgspec.Struct):
    """Of the input: a message, a call of a tool, or its result."""

    type: str | None = None
    role: str = ""
    content: Content = None
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    output: Content = None


class Tool(msgspec.Struct):
    type: str
    name: str = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Text(msgspec.Struct):
    format: Format | None = None


class ResponseBody(msgspec.Struct, kw_only=True):
    model: str
    input: str | list[Item]
    instructions: str | None = None
    previous_response_id: str | None = None
    stream: bool | None = None
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    text: Text | None = None
    background: bool | None = None
    conversation: Any = None
    prompt: Any = None

    def require_possible(self, agent: Agent) -> None:
        """Raises `Wrong` for what would have to be left undone without a word."""
        require_format(agent, self.text.format if self.text else None, "text.format")
        chosen_by_the_agent(self.tool_choice)
        refused = {
            "background": self.background and "a client that waits for nothing starts runs at /api/runs",
            "conversation": self.conversation and "name the answer to go on from in `previous_response_id`",
            "prompt": self.prompt and "the prompt of an agent stands in its file",
        }
        for param, why in refused.items():
            if why:
                raise Wrong(400, str(why), param=param, code="unsupported_value")

    @property
    def after(self) -> str:
        """The answer that it goes on from; empty if it names none."""
        return (self.previous_response_id or "").removeprefix(PREFIX)

    def said(self) -> Iterator[Said]:
        if self.instructions:
            yield Said("system", self.instructions)
        if isinstance(self.input, str):
            yield Said("user", self.input)
            return
        for number, item in enumerate(self.input):
            yield from _said(item, f"input[{number}]")

    def client_tools(self) -> Iterator[ToolSpec]:
        for number, tool in enumerate(self.tools or () if self.tool_choice != "none" else ()):
            if tool.type != "function":
                raise Wrong(400, "only tools of the type `function` are known here", param=f"tools[{number}]")
            yield tool_of(FunctionTool(tool.name, tool.description, tool.parameters))


def _said(item: Item, place: str) -> Iterator[Said]:
    match item.type or "message":
        case "message" if item.role == "user":
            content, files = apart(item.content, f"{place}.content")
            yield Said("user", text_of(content, f"{place}.content"), files=files)
        case "message" if item.role in ROLES:
            yield Said(ROLES[item.role], text_of(item.content, f"{place}.content"))
        case "message":
            raise Wrong(400, f"there is no role {item.role!r}; use {', '.join(ROLES)}", param=f"{place}.role")
        case "function_call":
            yield Said("assistant", calls=(call(item.call_id, item.name, item.arguments),))
        case "function_call_output":
            yield Said("tool", text_of(item.output, f"{place}.output"), answers=item.call_id)
        case "reasoning":
            return  # progress that was told before
        case kind:
            raise Wrong(400, f"items of the type {kind!r} are not read here", param=f"{place}.type")
