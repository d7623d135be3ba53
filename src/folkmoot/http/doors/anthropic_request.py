"""What Anthropic's clients ask for: the body of a message, and what of it cannot be had here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.http.doors.client_tools import FunctionTool, Name, function_spec
from folkmoot.http.doors.contents import Content, Part, inline_texts, read_content
from folkmoot.http.doors.conversation import Said
from folkmoot.http.doors.reading import INSTRUCTING, converted, number_of_request
from folkmoot.http.doors.wrong import Wrong

_BETWEEN = "\n\n"


class Use(msgspec.Struct):
    """A call of a client's tool."""

    id: str
    name: str
    input: dict[str, Any] = {}


class Result(msgspec.Struct):
    tool_use_id: str
    content: Content = None
    is_error: bool | None = None


class Message(msgspec.Struct):
    role: str
    content: str | list[Part]


class Tool(msgspec.Struct):
    name: Name
    input_schema: dict[str, Any]
    description: str | None = None


class Kind(msgspec.Struct):
    type: str


class OutputConfig(msgspec.Struct):
    format: Any = None


class CountBody(msgspec.Struct, kw_only=True):
    """Fields that only tune a model, such as `temperature`, are let be: an agent's file says how its models are
    tuned."""

    model: str
    messages: Annotated[list[Message], Meta(min_length=1)]
    system: Content = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Kind | None = None

    def said(self) -> Iterator[Said]:
        if told := read_content(self.system, "system", between=_BETWEEN).text:
            yield Said("system", told)
        request = number_of_request([message.role for message in self.messages])
        for number, message in enumerate(self.messages):
            yield from _said(message, f"messages.{number}", asked=number == request)

    def client_tools(self) -> Iterator[ToolSpec]:
        """Those that the client says how to call; what Anthropic runs or knows itself, it only offers."""
        if self.tool_choice and self.tool_choice.type == "none":
            return
        for number, given in enumerate(self.tools or ()):
            if given.get("input_schema") is not None:
                tool = converted(given, Tool, f"tools.{number}")
                yield function_spec(FunctionTool(tool.name, tool.description, tool.input_schema))


class MessageBody(CountBody, kw_only=True):
    max_tokens: int
    """A part of the format. An agent's report is given whole: its file says how long it may be."""
    stream: bool | None = None
    thinking: Kind | None = None
    stop_sequences: list[str] | None = None
    output_config: OutputConfig | None = None

    @property
    def thinks(self) -> bool:
        """Whether the client expects that thinking comes before the answer."""
        return self.thinking is not None and self.thinking.type != "disabled"

    def require_possible(self) -> None:
        """Raises `Wrong` for what would have to be left undone without a word."""
        refused = {
            "stop_sequences": self.stop_sequences and "an agent's report is given whole; leave it out",
            "output_config": self.output_config
            and self.output_config.format
            and "the form of what an agent reports is declared in its file, not by who asks",
            "tool_choice": self.tool_choice
            and self.tool_choice.type in ("any", "tool")
            and "an agent decides itself which tools it calls; `auto` and `none` can be had",
        }
        for param, why in refused.items():
            if why:
                raise Wrong(400, f"{param}: {why}", param=param)


def _said(message: Message, place: str, *, asked: bool) -> Iterator[Said]:
    """What stands beside results is read with them, and not refused: they could not come again."""
    role, content = _role_of(message.role, place), message.content
    parts = [*enumerate(content)] if isinstance(content, list) else []
    results = [(number, part) for number, part in parts if part.get("type") == "tool_result"]
    for number, part in results:
        at = f"{place}.content.{number}"
        result = converted(part, Result, at)
        given = inline_texts(read_content(result.content, f"{at}.content", between=_BETWEEN))
        yield Said(
            "tool", given.text, answers=result.tool_use_id, failed=bool(result.is_error), files=given.files
        )
    uses = (
        converted(part, Use, f"{place}.content.{number}")
        for number, part in parts
        if part.get("type") == "tool_use"
    )
    calls = tuple(ToolCall(use.id, use.name, use.input) for use in uses)
    own = read_content(content, f"{place}.content", strict=asked and not results, between=_BETWEEN)
    if own.text or calls or own.files:
        yield Said(role, own.text, calls, files=own.files)


def _role_of(role: str, place: str) -> Literal["system", "user", "assistant"]:
    match role:
        case "user" | "assistant":
            return role
        case _ if role in INSTRUCTING:
            return "system"
    raise Wrong(400, f"there is no role {role!r}; use user, assistant or system", param=f"{place}.role")
