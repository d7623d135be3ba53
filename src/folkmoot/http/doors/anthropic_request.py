"""What Anthropic's clients ask for: the body of a message, and what of it cannot be had here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.http.doors.conversation import Said
from folkmoot.http.doors.reading import apart
from folkmoot.http.doors.wrong import Wrong

_SILENT = ("thinking", "redacted_thinking")
"""What clients give back as they got it: of ours it was progress, and nobody's words."""


class Block(msgspec.Struct):
    """Of a message's content: which fields it has depends on its type."""

    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] = {}
    tool_use_id: str = ""
    content: str | list[Block] | None = None
    is_error: bool | None = None
    source: Any = None
    title: Any = None


Content = str | list[Block]


class Message(msgspec.Struct):
    role: Literal["user", "assistant", "system"]
    content: Content


class Tool(msgspec.Struct):
    name: str
    input_schema: dict[str, Any] | None = None
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
    system: Content = ""
    tools: list[Tool] | None = None
    tool_choice: Kind | None = None

    def said(self) -> Iterator[Said]:
        if told := "\n\n".join(_texts(self.system, "system")):
            yield Said("system", told)
        for number, message in enumerate(self.messages):
            yield from _said(message, f"messages.{number}.content")

    def client_tools(self) -> Iterator[ToolSpec]:
        for number, tool in enumerate(self.tools or ()):
            if tool.input_schema is None:
                why = (
                    f"{tool.name} runs at Anthropic, not here; send tools of your own, with an `input_schema`"
                )
                raise Wrong(400, why, param=f"tools.{number}")
            if not (self.tool_choice and self.tool_choice.type == "none"):
                yield ToolSpec(tool.name, tool.description or "", tool.input_schema)


class MessageBody(CountBody, kw_only=True):
    max_tokens: int
    """A part of the format. An agent's report is given whole: its file says how long it may be."""
    stream: bool | None = None
    thinking: Kind | None = None
    stop_sequences: list[str] | None = None
    output_config: OutputConfig | None = None
    mcp_servers: list[Any] | None = None

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
            "mcp_servers": self.mcp_servers and "give the agent tool servers in `folkmoot.yaml`",
            "tool_choice": self.tool_choice
            and self.tool_choice.type in ("any", "tool")
            and "an agent decides itself which tools it calls; `auto` and `none` can be had",
        }
        for param, why in refused.items():
            if why:
                raise Wrong(400, f"{param}: {why}", param=param)


def _said(message: Message, place: str) -> Iterator[Said]:
    content, files = apart(message.content, place) if message.role == "user" else (message.content, ())
    content = content or ""
    blocks = _blocks(content)
    for number, block in enumerate(blocks):
        if block.type == "tool_result":
            text = "\n\n".join(_texts(block.content or "", f"{place}.{number}.content"))
            yield Said("tool", text, answers=block.tool_use_id, failed=bool(block.is_error))
    calls = tuple(ToolCall(block.id, block.name, block.input) for block in blocks if block.type == "tool_use")
    text = "\n\n".join(_texts(content, place))
    if text or calls or files:
        yield Said(message.role, text, calls, files=files)


def _texts(content: Content, place: str) -> Iterator[str]:
    """Raises `Wrong` for what nobody here can read."""
    for number, block in enumerate(_blocks(content)):
        if block.type == "text":
            yield block.text
        elif block.type not in (*_SILENT, "tool_use", "tool_result"):
            why = f"blocks of the type {block.type!r} are not read here; send text"
            raise Wrong(400, f"{place}.{number}: {why}", param=place)


def _blocks(content: Content) -> Iterable[Block]:
    return (Block("text", content),) if isinstance(content, str) else content
