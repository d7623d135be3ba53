"""`/v1/responses`: an agent asked through OpenAI's Responses API. A response is a run, or a part of one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.domain.events import RunStarted
from folkmoot.domain.message import ToolCall
from folkmoot.errors import WrongUse
from folkmoot.http.doors import reading
from folkmoot.http.doors.conversation import Said, talk, with_what_was_said
from folkmoot.http.doors.going_on import Past, past_of
from folkmoot.http.doors.offers import name_of, offered, sight
from folkmoot.http.doors.reply import ClientCall, Going, Reply, reply_of
from folkmoot.http.doors.responses_request import PREFIX, ResponseBody
from folkmoot.http.doors.running import Running, seconds
from folkmoot.http.doors.streaming import Stream, event
from folkmoot.http.doors.wrong import Wrong
from folkmoot.http.house import House, house_of
from folkmoot.views.accounting import Totals
from folkmoot.views.result import Result


async def respond(request: Request) -> Response:
    body = await reading.body(request, ResponseBody)
    house = house_of(request)
    agent = offered(house.moot, body.model)
    body.require_possible(agent)
    recalled = {id: await _recalled(request, id) for id in body.references}
    said = [*body.said(recalled.__getitem__)]
    asked = replace(
        talk(agent.file, agent.id, said, alone=not body.after, sight=sight(house.moot, agent)),
        tools=tuple(body.client_tools()),
        work_session=reading.work_session(request, body.metadata),
    )
    if body.after:
        past = await _past(house, body.after, "previous_response_id")
        asked = with_what_was_said(asked, agent.id, past.name, past.drafts)
    running = await Running.of(request)
    going = await running.begin(asked, surely=bool(body.stream))
    head = head_of(
        f"{PREFIX}{going.name}",
        seconds(house.clock.now()),
        body.model,
        previous_response_id=body.previous_response_id,
        instructions=body.instructions,
        metadata=body.metadata or {},
    )
    if body.stream:
        return Stream(running, going, Events(head))
    reply = await running.ended(going, request.receive)
    if reply.wrong:
        raise reply.wrong
    return _json(whole(head, reply))


async def response(request: Request) -> Response:
    """As it was given, from the journal."""
    house = house_of(request)
    past = await _past(house, request.path_params["id"].removeprefix(PREFIX), "response_id")
    started = past.drafts[0].event
    assert isinstance(started, RunStarted)
    head = head_of(f"{PREFIX}{past.name}", seconds(past.drafts[0].ts), name_of(house.moot, started.agent))
    return _json(whole(head, await _reply(request, past)) if past.is_over else head)


async def _reply(request: Request, past: Past) -> Reply:
    """As it was given then."""
    spent = Result(past.run, past.drafts[: past.entries]).totals
    going = Going(past.run, past.entries, spent)
    return reply_of(Result(past.run, past.drafts), going, (await Running.of(request)).page)


async def _recalled(request: Request, id: str) -> Said | None:
    """What an item of an earlier answer said. Raises `Wrong` if there is none."""
    house, threads = house_of(request), request.app.state.threads
    kind, _, rest = id.partition("_")
    with suppress(WrongUse):
        if f"{kind}_" in (MESSAGE, REASONING) and rest.startswith(PREFIX):
            past = await past_of(house.moot, rest.removeprefix(PREFIX))
            if f"{kind}_" == REASONING:
                return None
            if past.is_over and not (reply := await _reply(request, past)).wrong:
                return Said("assistant", reply.text)
        elif f"{kind}_" in (FUNCTION, FREEFORM) and (called := await threads.called([rest])):
            item = next(item for item in await house.moot.inbox(called.run) if item.id == rest)
            return Said("assistant", calls=(ToolCall(item.id, item.tool, item.arguments),))
    raise Wrong(404, f"there is no item {id!r} in any answer that was given here", param="input")


async def _past(house: House, name: str, param: str) -> Past:
    try:
        return await past_of(house.moot, name)
    except WrongUse as error:
        raise Wrong(404, f"there is no response {PREFIX + name!r}", param=param) from error


def _json(document: Any) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json")


ROUTES = (Route("/responses", respond, methods=["POST"]), Route("/responses/{id}", response))


Document = dict[str, Any]
MESSAGE, REASONING, FUNCTION, FREEFORM = "msg_", "rs_", "fc_", "ctc_"
"""How the ids of the items of an answer begin; behind it stands the id of the answer, or that of the call."""


def whole(head: Document, reply: Reply) -> Document:
    """`head` is what is known before the run has ended: see `head_of`."""
    done = {**head, "status": "completed", "output": _output(head["id"], reply)}
    if error := reply.wrong:
        done |= {"status": "failed", "error": _error(error), "output": []}
    return {**done, "usage": _usage(reply.usage), "folkmoot": reply.about}


def head_of(id: str, created: int, model: str, **more: Any) -> Document:
    return {
        "id": id,
        "object": "response",
        "created_at": created,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "tool_choice": "auto",
        "tools": [],
        **more,
    }


class Events:
    """A response that is told while its run goes on; progress is told as a summary of reasoning."""

    alive = b": still here\n\n"

    def __init__(self, head: Document) -> None:
        self._head = head
        self._id: str = head["id"]
        self._told = 0
        self._progress = ""
        self._text = ""

    def begun(self, going: Going) -> Iterator[bytes]:
        yield self._event("response.created", response=self._head)
        yield self._event("response.in_progress", response=self._head)

    def progress(self, line: str) -> Iterator[bytes]:
        place = {"item_id": self._reasoning["id"], "output_index": 0, "summary_index": 0}
        if not self._progress:
            yield self._event("response.output_item.added", output_index=0, item=self._reasoning)
            empty = {"type": "summary_text", "text": ""}
            yield self._event("response.reasoning_summary_part.added", **place, part=empty)
        self._progress += f"{line}\n"
        yield self._event("response.reasoning_summary_text.delta", **place, delta=f"{line}\n")

    def said(self, piece: str) -> Iterator[bytes]:
        if not self._text:
            yield from self._end_progress()
            yield from self._begin_message()
        self._text += piece
        yield self._event("response.output_text.delta", **self._in_message, delta=piece, logprobs=[])

    def ended(self, reply: Reply) -> Iterator[bytes]:
        if not self._text:
            yield from self._end_progress()
        output = [self._reasoning] if self._progress else []
        for item in _output(self._id, reply):
            yield from self._end_message(item) if item["type"] == "message" else self._call(len(output), item)
            yield self._event("response.output_item.done", output_index=len(output), item=item)
            output.append(item)
        yield self._event("response.completed", response={**whole(self._head, reply), "output": output})

    def failed(self, error: Wrong) -> Iterator[bytes]:
        failed = {**self._head, "status": "failed", "error": _error(error)}
        yield self._event("response.failed", response=failed)

    @property
    def _reasoning(self) -> Document:
        told = [{"type": "summary_text", "text": self._progress}] if self._progress else []
        return {"id": f"{REASONING}{self._id}", "type": "reasoning", "summary": told}

    def _end_progress(self) -> Iterator[bytes]:
        if not self._progress:
            return
        place = {"item_id": self._reasoning["id"], "output_index": 0, "summary_index": 0}
        yield self._event("response.reasoning_summary_text.done", **place, text=self._progress)
        part = self._reasoning["summary"][0]
        yield self._event("response.reasoning_summary_part.done", **place, part=part)
        yield self._event("response.output_item.done", output_index=0, item=self._reasoning)

    @property
    def _in_message(self) -> Document:
        index = 1 if self._progress else 0
        return {"item_id": _message(self._id, "")["id"], "output_index": index, "content_index": 0}

    def _begin_message(self) -> Iterator[bytes]:
        place, empty = self._in_message, _message(self._id, "")
        item = {**empty, "status": "in_progress", "content": []}
        yield self._event("response.output_item.added", output_index=place["output_index"], item=item)
        yield self._event("response.content_part.added", **place, part=empty["content"][0])

    def _end_message(self, item: Document) -> Iterator[bytes]:
        if not self._text:
            yield from self._begin_message()
        (part,) = item["content"]
        yield self._event("response.output_text.done", **self._in_message, text=part["text"], logprobs=[])
        yield self._event("response.content_part.done", **self._in_message, part=part)

    def _call(self, index: int, item: Document) -> Iterator[bytes]:
        place, given = {"item_id": item["id"], "output_index": index}, "arguments"
        kind, named = "response.function_call_arguments", {"name": item["name"]}
        if item["type"] == "custom_tool_call":
            kind, given, named = "response.custom_tool_call_input", "input", {}
        begun = {**item, given: "", "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=index, item=begun)
        yield self._event(f"{kind}.delta", **place, delta=item[given])
        yield self._event(f"{kind}.done", **place, **named, **{given: item[given]})

    def _event(self, type: str, /, **data: Any) -> bytes:
        number, self._told = self._told, self._told + 1
        return event({"type": type, "sequence_number": number, **data}, type)


def _output(id: str, reply: Reply) -> list[Document]:
    calls = [_call(call) for call in reply.calls]
    if calls and not reply.text:
        return calls
    return [_message(id, reply.text), *calls]


def _message(id: str, text: str) -> Document:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"id": f"{MESSAGE}{id}", "type": "message", "status": "completed", "role": "assistant"}
    return {**message, "content": [part]}


def _call(call: ClientCall) -> Document:
    named = {"call_id": call.id, "name": call.tool.name, "status": "completed"}
    if call.tool.namespace:
        named["namespace"] = call.tool.namespace
    if call.tool.freeform:
        return {"id": f"{FREEFORM}{call.id}", "type": "custom_tool_call", **named, "input": call.text}
    return {"id": f"{FUNCTION}{call.id}", "type": "function_call", **named, "arguments": call.text}


def _error(error: Wrong) -> Document:
    return {"code": error.code or "server_error", "message": str(error)}


def _usage(spent: Totals) -> Document:
    """As the ledger has it."""
    return {
        "input_tokens": spent.tokens_in,
        "input_tokens_details": {"cached_tokens": spent.tokens_cache_read},
        "output_tokens": spent.tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": spent.tokens_in + spent.tokens_out,
    }
