"""`/v1/messages`: an agent asked as Anthropic's clients ask a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.domain.part import recorded
from folkmoot.domain.text import estimated_tokens
from folkmoot.http.doors import reading
from folkmoot.http.doors.client_tools import FunctionTool, Name, function_spec
from folkmoot.http.doors.contents import Content, Part, inline_texts, read_content
from folkmoot.http.doors.conversation import Said, talk
from folkmoot.http.doors.offers import offered, sight
from folkmoot.http.doors.reading import INSTRUCTING, converted, number_of_request
from folkmoot.http.doors.reply import ClientCall, Going, Reply
from folkmoot.http.doors.running import Running
from folkmoot.http.doors.streaming import Stream, event
from folkmoot.http.doors.wrong import Wrong, anthropic_error
from folkmoot.http.house import house_of
from folkmoot.views.accounting import Totals

_SIGNED = "folkmoot"
"""Clients want a thinking block signed, and give it back; nothing follows from it here."""


async def create(request: Request) -> Response:
    body = await reading.body(request, MessageBody)
    body.require_possible()
    moot = house_of(request).moot
    agent = offered(moot, body.model)
    asked = replace(
        talk(agent.file, agent.id, [*body.said()], sight=sight(moot, agent)),
        tools=tuple(body.client_tools()),
        work_session=reading.work_session(request, None),
    )
    running = await Running.of(request)
    going = await running.begin(asked, surely=bool(body.stream))
    wire = _Message(f"msg_{going.name}", body.model, thinks=body.thinks)
    if body.stream:
        return Stream(running, going, wire)
    reply = await running.ended(going, request.receive)
    if reply.wrong:
        raise reply.wrong
    return _json(wire.whole(reply))


async def count_tokens(request: Request) -> Response:
    """What the first request to the agent's model would take, by the guess that budgets are reserved with."""
    body = await reading.body(request, CountBody)
    moot = house_of(request).moot
    agent = offered(moot, body.model)
    everything = [*body.said()]
    said = "\n".join(f"{one.text}{msgspec.json.encode(one.calls).decode()}" for one in everything)
    carried = sum(recorded(file, "").tokens for one in everything for file in one.files)
    tools = msgspec.json.encode([*body.client_tools()]).decode()
    guess = estimated_tokens(agent.prompt + said + tools) + moot.kits.of(agent).schema_tokens
    return _json({"input_tokens": guess + carried})


class _Message:
    """One message, whole or event by event.

    What happens meanwhile is told as thinking, to clients that want thinking: others take the first block of a message
    for the answer. They get a sign of life now and then.
    """

    def __init__(self, id: str, model: str, *, thinks: bool) -> None:
        self._head = {"id": id, "type": "message", "role": "assistant", "model": model}
        self._thinks = thinks
        self._blocks = 0
        """How many are complete."""
        self._open = ""
        """What is told now: `thinking` or `text`."""

    alive = event({"type": "ping"}, "ping")

    def whole(self, reply: Reply) -> dict[str, Any]:
        return {
            **self._head,
            "content": [*_blocks(reply)],
            "stop_reason": _stop(reply),
            "stop_sequence": None,
            "usage": usage(reply.usage),
            "folkmoot": reply.about,
        }

    def begun(self, going: Going) -> Iterator[bytes]:
        empty: dict[str, Any] = {
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage(Totals()),
        }
        yield _event("message_start", message={**self._head, **empty})
        yield self.alive

    def progress(self, line: str) -> Iterator[bytes]:
        if not self._thinks:
            return
        if not self._open:
            yield from self._begin("thinking", thinking="", signature="")
        yield _delta(self._blocks, type="thinking_delta", thinking=f"{line}\n")

    def said(self, piece: str) -> Iterator[bytes]:
        if self._open != "text":
            yield from self._end()
            yield from self._begin("text", text="")
        yield _delta(self._blocks, type="text_delta", text=piece)

    def ended(self, reply: Reply) -> Iterator[bytes]:
        yield from self._end()
        for call in reply.calls:
            block = _block(call)
            yield from self._begin(**{**block, "input": {}})
            given = msgspec.json.encode(block["input"]).decode()
            yield _delta(self._blocks, type="input_json_delta", partial_json=given)
            yield from self._end()
        yield _event(
            "message_delta",
            delta={"stop_reason": _stop(reply), "stop_sequence": None},
            usage=usage(reply.usage),
            folkmoot=reply.about,
        )
        yield _event("message_stop")

    def failed(self, error: Wrong) -> Iterator[bytes]:
        yield event(anthropic_error(error), "error")

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


def usage(spent: Totals) -> dict[str, int]:
    """As the ledger has it, of every agent that took part. Here, what a cache gave or took is counted apart."""
    read, written = spent.tokens_cache_read, spent.tokens_cache_write
    return {
        "input_tokens": spent.tokens_in - read - written,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": spent.tokens_out,
    }


def _blocks(reply: Reply) -> Iterator[dict[str, Any]]:
    if reply.text:
        yield {"type": "text", "text": reply.text}
    yield from map(_block, reply.calls)


def _block(call: ClientCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.tool.name, "input": call.arguments}


def _stop(reply: Reply) -> str:
    """Also of a run that waits for a person: a client that is told to come back would do so at once, for ever."""
    return "tool_use" if reply.calls else "end_turn"


def _delta(index: int, **delta: str) -> bytes:
    return _event("content_block_delta", index=index, delta=delta)


def _event(type: str, **fields: Any) -> bytes:
    return event({"type": type, **fields}, type)


def _json(document: Any) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json")


ROUTES = (
    Route("/messages", create, methods=["POST"]),
    Route("/messages/count_tokens", count_tokens, methods=["POST"]),
)


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
