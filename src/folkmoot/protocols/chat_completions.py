"""`/v1/chat/completions`: an agent asked as OpenAI's clients ask a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.domain.agent import Agent
from folkmoot.domain.message import ToolCall
from folkmoot.http.problems import ChatError, openai_error
from folkmoot.http.state import get_server_state
from folkmoot.protocols import wire
from folkmoot.protocols.answers import AwaitedRun, ChatReply, ClientCall
from folkmoot.protocols.content import Content, inline_texts, parse_tool_call, read_content, read_openai_tools
from folkmoot.protocols.conversation import ChatMessage
from folkmoot.views.costs import Totals

_CHUNK = "chat.completion.chunk"
_DONE = b"data: [DONE]\n\n"


class CalledFunction(msgspec.Struct):
    name: str
    arguments: str = ""


class CalledFreeform(msgspec.Struct):
    name: str
    input: str = ""


class CompletionCall(msgspec.Struct):
    id: str
    function: CalledFunction | None = None
    custom: CalledFreeform | None = None

    @property
    def call(self) -> ToolCall:
        if self.custom:
            return ToolCall(self.id, self.custom.name, {"input": self.custom.input})
        function = self.function or CalledFunction("")
        return parse_tool_call(self.id, function.name, function.arguments)


class CompletionMessage(msgspec.Struct):
    role: str
    content: Content = None
    tool_calls: list[CompletionCall] | None = None
    tool_call_id: str | None = None


class StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class CompletionBody(msgspec.Struct, kw_only=True):
    """Fields that only tune a model, such as `temperature`, are ignored: an agent's file tunes its models."""

    model: str
    messages: Annotated[list[CompletionMessage], Meta(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    n: int | None = None
    stop: Any = None
    logprobs: bool | None = None
    modalities: list[str] | None = None
    audio: Any = None
    response_format: wire.TypedOption | None = None

    def check(self, agent: Agent) -> None:
        format, choice = wire.describe_unsupported(agent, self.response_format, self.tool_choice)
        wire.refuse_unsupported(
            {
                "response_format": format,
                "tool_choice": choice,
                "n": self.n not in (None, 1) and "a request is answered once; leave `n` out",
                "stop": self.stop and "an agent's report is given whole; leave `stop` out",
                "logprobs": self.logprobs and "an agent's report has no log probabilities",
                "modalities": set(self.modalities or ()) - {"text"} and "an agent answers with text",
                "audio": self.audio and "an agent answers with text",
            }
        )

    def read_messages(self) -> Iterator[ChatMessage]:
        request = wire.request_number([message.role for message in self.messages])
        for number, message in enumerate(self.messages):
            place = f"messages[{number}]"
            role = wire.role_of(message.role, place)
            content = read_content(message.content, f"{place}.content", strict=number == request)
            content = inline_texts(content) if role == "tool" else content
            yield ChatMessage(
                role,
                content.text,
                tuple(each.call for each in message.tool_calls or ()),
                (message.tool_call_id or "") if role == "tool" else "",
                files=content.files,
            )


async def complete(request: Request) -> Response:
    body, house = await wire.read_body(request, CompletionBody), get_server_state(request)
    agent = wire.find_model(house.moot, body.model)
    body.check(agent)
    messages = [*body.read_messages()]
    tools = read_openai_tools(body.tools or () if body.tool_choice != "none" else (), "tools", nested=True)
    asked = wire.build_chat_request(request, agent, messages, tools, body.metadata)
    usage = bool(body.stream_options and body.stream_options.include_usage)

    def make_wire(run: AwaitedRun) -> Completion:
        created = wire.unix_seconds(house.clock.now())
        return Completion({"id": f"chatcmpl-{run.name}", "created": created, "model": body.model}, usage)

    return await wire.answer_request(request, asked, make_wire, stream=body.stream)


class Completion:
    """One completion, whole or in chunks."""

    alive = b": still here\n\n"

    def __init__(self, head: dict[str, Any], usage: bool) -> None:
        self._head = head
        self._usage = usage

    def whole(self, reply: ChatReply) -> dict[str, Any]:
        calls = {"tool_calls": [_to_tool_call(call) for call in reply.calls]} if reply.calls else {}
        message = {"role": "assistant", "content": reply.text or None, "refusal": None, **calls}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(reply)}
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": _usage(reply.usage),
            "folkmoot": reply.about,
        }

    def start(self) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "content": ""})

    def progress(self, line: str) -> Iterator[bytes]:
        yield self._chunk({"reasoning_content": f"{line}\n"})

    def text(self, piece: str) -> Iterator[bytes]:
        yield self._chunk({"content": piece})

    def end(self, reply: ChatReply) -> Iterator[bytes]:
        for number, call in enumerate(reply.calls):
            yield self._chunk({"tool_calls": [{"index": number, **_to_tool_call(call)}]})
        yield self._chunk({}, _finish_reason(reply), folkmoot=reply.about)
        if self._usage:
            yield wire.encode_event(
                {**self._head, "object": _CHUNK, "choices": [], "usage": _usage(reply.usage)}
            )
        yield _DONE

    def fail(self, error: ChatError) -> Iterator[bytes]:
        yield wire.encode_event(openai_error(error))
        yield _DONE

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        none = {"usage": None} if self._usage else {}
        return wire.encode_event({**self._head, "object": _CHUNK, "choices": [choice], **none, **more})


def _usage(spent: Totals) -> dict[str, Any]:
    """Of every agent of the run, not of the one that was asked alone."""
    return {
        "prompt_tokens": spent.tokens_in,
        "completion_tokens": spent.tokens_out,
        "total_tokens": spent.tokens_in + spent.tokens_out,
        "prompt_tokens_details": {"cached_tokens": spent.tokens_cache_read},
    }


def _finish_reason(reply: ChatReply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _to_tool_call(call: ClientCall) -> dict[str, Any]:
    if call.tool.freeform:
        return {"id": call.id, "type": "custom", "custom": {"name": call.tool.name, "input": call.text}}
    return {"id": call.id, "type": "function", "function": {"name": call.tool.name, "arguments": call.text}}


ROUTES = (Route("/chat/completions", complete, methods=["POST"]),)
