"""`/v1/messages`: an agent asked as Anthropic's clients ask a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.domain.part import recorded
from folkmoot.domain.text import estimated_tokens
from folkmoot.http.problems import ChatError, anthropic_error
from folkmoot.http.state import get_server_state
from folkmoot.protocols import wire
from folkmoot.protocols.answers import ChatReply, ClientCall
from folkmoot.protocols.content import (
    Content,
    Part,
    ToolName,
    convert_part,
    function_spec,
    inline_texts,
    read_content,
)
from folkmoot.protocols.conversation import ChatMessage
from folkmoot.views.costs import Totals

_SIGNED = "folkmoot"
"""Clients want a thinking block signed, and give it back; nothing follows from it here."""
_BETWEEN = "\n\n"


class ToolUse(msgspec.Struct):
    """A call of a client's tool."""

    id: str
    name: str
    input: dict[str, Any] = {}


class ToolUseResult(msgspec.Struct):
    tool_use_id: str
    content: Content = None
    is_error: bool | None = None


class AnthropicMessage(msgspec.Struct):
    role: str
    content: str | list[Part]


class AnthropicTool(msgspec.Struct):
    name: ToolName
    input_schema: dict[str, Any]
    description: str | None = None


class OutputConfig(msgspec.Struct):
    format: Any = None


class CountBody(msgspec.Struct, kw_only=True):
    """Fields that only tune a model, such as `temperature`, are ignored: an agent's file tunes its models."""

    model: str
    messages: Annotated[list[AnthropicMessage], Meta(min_length=1)]
    system: Content = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: wire.TypedOption | None = None

    def read_messages(self) -> Iterator[ChatMessage]:
        if text := read_content(self.system, "system", between=_BETWEEN).text:
            yield ChatMessage("system", text)
        request = wire.request_number([message.role for message in self.messages])
        for number, message in enumerate(self.messages):
            yield from _read_message(message, f"messages.{number}", asked=number == request)

    def client_tools(self) -> Iterator[ToolSpec]:
        """Those that the client says how to call; what Anthropic runs or knows itself, it only offers."""
        if self.tool_choice and self.tool_choice.type == "none":
            return
        for number, given in enumerate(self.tools or ()):
            if given.get("input_schema") is not None:
                tool = convert_part(given, AnthropicTool, f"tools.{number}")
                yield function_spec(tool.name, tool.description, tool.input_schema)


class MessageBody(CountBody, kw_only=True):
    max_tokens: int
    """A part of the format. An agent's report is given whole: its file says how long it may be."""
    stream: bool | None = None
    thinking: wire.TypedOption | None = None
    stop_sequences: list[str] | None = None
    output_config: OutputConfig | None = None

    @property
    def thinks(self) -> bool:
        """Whether the client expects that thinking comes before the answer."""
        return self.thinking is not None and self.thinking.type != "disabled"

    def check(self) -> None:
        format = self.output_config and self.output_config.format
        forced = self.tool_choice and self.tool_choice.type in ("any", "tool")
        wire.refuse_unsupported(
            {
                "stop_sequences": self.stop_sequences
                and "stop_sequences: an agent's report is given whole; leave it out",
                "output_config": format
                and "output_config: the form of what an agent reports is declared in its file, not by who asks",
                "tool_choice": forced
                and "tool_choice: an agent decides itself which tools it calls; `auto` and `none` can be had",
            },
            code="",
        )


def _read_message(message: AnthropicMessage, place: str, *, asked: bool) -> Iterator[ChatMessage]:
    """What stands beside results is read with them, and not refused: they could not come again."""
    role, content = wire.ROLES.get(message.role, "tool"), message.content
    if role == "tool":
        words = f"there is no role {message.role!r}; use user, assistant or system"
        raise ChatError(400, words, param=f"{place}.role")
    parts = [*enumerate(content)] if isinstance(content, list) else []
    results = [(number, part) for number, part in parts if part.get("type") == "tool_result"]
    for number, part in results:
        at = f"{place}.content.{number}"
        result = convert_part(part, ToolUseResult, at)
        given = inline_texts(read_content(result.content, f"{at}.content", between=_BETWEEN))
        yield ChatMessage(
            "tool", given.text, answers=result.tool_use_id, failed=bool(result.is_error), files=given.files
        )
    uses = (
        convert_part(part, ToolUse, f"{place}.content.{number}")
        for number, part in parts
        if part.get("type") == "tool_use"
    )
    calls = tuple(ToolCall(use.id, use.name, use.input) for use in uses)
    own = read_content(content, f"{place}.content", strict=asked and not results, between=_BETWEEN)
    if own.text or calls or own.files:
        yield ChatMessage(role, own.text, calls, files=own.files)


async def create_message(request: Request) -> Response:
    body = await wire.read_body(request, MessageBody)
    body.check()
    agent = wire.find_model(get_server_state(request).moot, body.model)
    asked = wire.build_chat_request(request, agent, [*body.read_messages()], body.client_tools())
    return await wire.answer_request(
        request,
        asked,
        lambda run: MessageEvents(f"msg_{run.name}", body.model, thinks=body.thinks),
        stream=body.stream,
    )


async def count_tokens(request: Request) -> Response:
    """The tokens of the first request to the agent's model, by the estimate that budgets are reserved with."""
    body, moot = await wire.read_body(request, CountBody), get_server_state(request).moot
    agent = wire.find_model(moot, body.model)
    messages = [*body.read_messages()]
    text = "\n".join(f"{each.text}{msgspec.json.encode(each.calls).decode()}" for each in messages)
    files = sum(recorded(file, "").tokens for each in messages for file in each.files)
    tools = msgspec.json.encode([*body.client_tools()]).decode()
    guess = estimated_tokens(agent.prompt + text + tools) + moot.kits.of(agent).schema_tokens
    return wire.json_response({"input_tokens": guess + files})


class MessageEvents:
    """One message, whole or event by event.

    Progress is thinking, for clients that want thinking: others take the first block of a message for the answer.
    """

    def __init__(self, id: str, model: str, *, thinks: bool) -> None:
        self._head = {"id": id, "type": "message", "role": "assistant", "model": model}
        self._thinks = thinks
        self._blocks = 0
        """How many are complete."""
        self._open = ""
        """The type of the block that is being sent: `thinking` or `text`."""

    alive = wire.encode_event({"type": "ping"}, "ping")

    def whole(self, reply: ChatReply) -> dict[str, Any]:
        return {
            **self._head,
            "content": [*_blocks(reply)],
            "stop_reason": _stop_reason(reply),
            "stop_sequence": None,
            "usage": _usage(reply.usage),
            "folkmoot": reply.about,
        }

    def start(self) -> Iterator[bytes]:
        empty: dict[str, Any] = {
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(Totals()),
        }
        yield _event("message_start", message={**self._head, **empty})
        yield self.alive

    def progress(self, line: str) -> Iterator[bytes]:
        if not self._thinks:
            return
        if not self._open:
            yield from self._begin("thinking", thinking="", signature="")
        yield _delta(self._blocks, type="thinking_delta", thinking=f"{line}\n")

    def text(self, piece: str) -> Iterator[bytes]:
        if self._open != "text":
            yield from self._end()
            yield from self._begin("text", text="")
        yield _delta(self._blocks, type="text_delta", text=piece)

    def end(self, reply: ChatReply) -> Iterator[bytes]:
        yield from self._end()
        for call in reply.calls:
            yield from self._begin(**{**_tool_use_block(call), "input": {}})
            given = msgspec.json.encode(call.arguments).decode()
            yield _delta(self._blocks, type="input_json_delta", partial_json=given)
            yield from self._end()
        yield _event(
            "message_delta",
            delta={"stop_reason": _stop_reason(reply), "stop_sequence": None},
            usage=_usage(reply.usage),
            folkmoot=reply.about,
        )
        yield _event("message_stop")

    def fail(self, error: ChatError) -> Iterator[bytes]:
        yield wire.encode_event(anthropic_error(error), "error")

    def _begin(self, type: str, **empty: Any) -> Iterator[bytes]:
        self._open = type
        yield _event("content_block_start", index=self._blocks, content_block={"type": type, **empty})

    def _end(self) -> Iterator[bytes]:
        if not self._open:
            return
        if self._open == "thinking":
            yield _delta(self._blocks, type="signature_delta", signature=_SIGNED)
        yield _event("content_block_stop", index=self._blocks)
        self._blocks, self._open = self._blocks + 1, ""


def _usage(spent: Totals) -> dict[str, int]:
    """Of every agent of the run. In this format, tokens of a cache are counted apart."""
    read, written = spent.tokens_cache_read, spent.tokens_cache_write
    return {
        "input_tokens": spent.tokens_in - read - written,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": spent.tokens_out,
    }


def _blocks(reply: ChatReply) -> Iterator[dict[str, Any]]:
    if reply.text:
        yield {"type": "text", "text": reply.text}
    yield from map(_tool_use_block, reply.calls)


def _tool_use_block(call: ClientCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.tool.name, "input": call.arguments}


def _stop_reason(reply: ChatReply) -> str:
    """Also of a run that waits for a person: a client that is told to come back would do so at once, for ever."""
    return "tool_use" if reply.calls else "end_turn"


def _delta(index: int, **delta: str) -> bytes:
    return _event("content_block_delta", index=index, delta=delta)


def _event(type: str, **fields: Any) -> bytes:
    return wire.encode_event({"type": type, **fields}, type)


ROUTES = (
    Route("/messages", create_message, methods=["POST"]),
    Route("/messages/count_tokens", count_tokens, methods=["POST"]),
)
