"""`/v1/chat/completions`: an agent asked as OpenAI's clients ask a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.http.doors import reading
from folkmoot.http.doors.conversation import talk
from folkmoot.http.doors.offers import offered, sight
from folkmoot.http.doors.openai_request import ChatBody
from folkmoot.http.doors.reply import ClientCall, Going, Reply
from folkmoot.http.doors.running import Running, seconds
from folkmoot.http.doors.streaming import Stream, event
from folkmoot.http.doors.wrong import Wrong, openai_error
from folkmoot.http.house import house_of
from folkmoot.views.accounting import Totals

_DONE = b"data: [DONE]\n\n"


async def complete(request: Request) -> Response:
    body = await reading.body(request, ChatBody)
    house = house_of(request)
    agent = offered(house.moot, body.model)
    body.require_possible(agent)
    asked = replace(
        talk(agent.file, agent.id, [*body.said()], sight=sight(house.moot, agent)),
        tools=tuple(body.client_tools()),
        work_session=reading.work_session(request, body.metadata),
    )
    running = await Running.of(request)
    going = await running.begin(asked, surely=bool(body.stream))
    usage = bool(body.stream_options and body.stream_options.include_usage)
    wire = _Chunks(
        {"id": f"chatcmpl-{going.name}", "created": seconds(house.clock.now()), "model": body.model}, usage
    )
    if body.stream:
        return Stream(running, going, wire)
    reply = await running.ended(going, request.receive)
    if reply.wrong:
        raise reply.wrong
    return Response(msgspec.json.encode(wire.whole(reply)), media_type="application/json")


class _Chunks:
    """One completion, whole or in chunks."""

    alive = b": still here\n\n"

    def __init__(self, head: dict[str, Any], usage: bool) -> None:
        self._head = head
        self._usage = usage

    def whole(self, reply: Reply) -> dict[str, Any]:
        calls = {"tool_calls": [_call(one) for one in reply.calls]} if reply.calls else {}
        message = {"role": "assistant", "content": reply.text or None, "refusal": None, **calls}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": usage(reply.usage),
            "folkmoot": reply.about,
        }

    def begun(self, going: Going) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "content": ""})

    def progress(self, line: str) -> Iterator[bytes]:
        yield self._chunk({"reasoning_content": f"{line}\n"})

    def said(self, piece: str) -> Iterator[bytes]:
        yield self._chunk({"content": piece})

    def ended(self, reply: Reply) -> Iterator[bytes]:
        for number, one in enumerate(reply.calls):
            yield self._chunk({"tool_calls": [{"index": number, **_call(one)}]})
        yield self._chunk({}, _finish(reply), folkmoot=reply.about)
        if self._usage:
            yield event({**self._head, "object": _CHUNK, "choices": [], "usage": usage(reply.usage)})
        yield _DONE

    def failed(self, error: Wrong) -> Iterator[bytes]:
        yield event(openai_error(error))
        yield _DONE

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        none = {"usage": None} if self._usage else {}
        return event({**self._head, "object": _CHUNK, "choices": [choice], **none, **more})


_CHUNK = "chat.completion.chunk"


def usage(spent: Totals) -> dict[str, Any]:
    """As the ledger has it: of every agent that took part, not of the one that was asked alone."""
    return {
        "prompt_tokens": spent.tokens_in,
        "completion_tokens": spent.tokens_out,
        "total_tokens": spent.tokens_in + spent.tokens_out,
        "prompt_tokens_details": {"cached_tokens": spent.tokens_cache_read},
    }


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _call(call: ClientCall) -> dict[str, Any]:
    if call.tool.freeform:
        return {"id": call.id, "type": "custom", "custom": {"name": call.tool.name, "input": call.text}}
    return {"id": call.id, "type": "function", "function": {"name": call.tool.name, "arguments": call.text}}


ROUTES = (Route("/chat/completions", complete, methods=["POST"]),)
