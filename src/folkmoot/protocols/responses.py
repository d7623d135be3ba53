"""`/v1/responses`: an agent asked through OpenAI's Responses API. A response is a run, or a part of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.domain.agent import Agent
from folkmoot.domain.events import RunStarted
from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.errors import WrongUse
from folkmoot.http.chat_errors import ChatError
from folkmoot.http.house import House, house_of
from folkmoot.protocols.answer import answer, conversation_with, event
from folkmoot.protocols.answered_runs import PastAnswer, find_answer
from folkmoot.protocols.chat_request import (
    OutputFormat,
    convert,
    name_for_models,
    openai_tools,
    read_body,
    refuse,
    request_number,
    role_of,
    tool_call,
    unix_seconds,
    unsupported_openai,
)
from folkmoot.protocols.chat_runs import page_of
from folkmoot.protocols.content import Content, inline_texts, read_content
from folkmoot.protocols.conversation import ChatMessage, continue_from
from folkmoot.protocols.models import find_model, json_response, model_name
from folkmoot.protocols.reply import AwaitedRun, ChatReply, ClientCall
from folkmoot.views.accounting import Totals

PREFIX = "resp_"
MESSAGE, REASONING, FUNCTION, FREEFORM = "msg_", "rs_", "fc_", "ctc_"
"""How the ids of the items of an answer begin, before the id of the answer, or that of the call."""
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


class ResponseMessage(msgspec.Struct):
    role: str
    content: Content = None


class ResponseCall(msgspec.Struct):
    """Of a function, or of a freeform tool, which takes one text."""

    call_id: str
    name: str
    namespace: str | None = None
    arguments: str = ""
    input: str = ""


class CallOutput(msgspec.Struct):
    call_id: str
    output: Content = None


class TextOptions(msgspec.Struct):
    format: OutputFormat | None = None


class ResponseBody(msgspec.Struct, kw_only=True):
    """Fields that do not matter here, such as `store`, `include` or `service_tier`, are ignored."""

    model: str
    input: str | list[dict[str, Any]]
    instructions: Content = None
    previous_response_id: str | None = None
    stream: bool | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    text: TextOptions | None = None
    background: bool | None = None
    conversation: Any = None
    prompt: Any = None

    def check(self, agent: Agent) -> None:
        wanted = self.text.format if self.text else None
        format, choice = unsupported_openai(agent, wanted, self.tool_choice)
        refuse(
            {
                "text.format": format,
                "tool_choice": choice,
                "background": self.background and "a client that waits for nothing starts runs at /api/runs",
                "conversation": self.conversation
                and "name the answer to go on from in `previous_response_id`",
                "prompt": self.prompt and "the prompt of an agent stands in its file",
            }
        )

    @property
    def items(self) -> list[dict[str, Any]]:
        return [] if isinstance(self.input, str) else self.input

    @property
    def references(self) -> list[str]:
        """The ids of items that the client names instead of repeating them."""
        return [str(item.get("id")) for item in self.items if _kind(item) == "item_reference"]

    def read_messages(self, recall: Callable[[str], ChatMessage | None]) -> Iterator[ChatMessage]:
        """`recall` gives an earlier item by its id; none if it has no text."""
        if self.instructions:
            yield ChatMessage("system", read_content(self.instructions, "instructions").text)
        if isinstance(self.input, str):
            yield ChatMessage("user", self.input)
        request = request_number([_role(item) for item in self.items])
        for number, item in enumerate(self.items):
            if _kind(item) == "item_reference":
                yield from filter(None, [recall(str(item.get("id")))])
            else:
                yield from _read_item(item, f"input[{number}]", strict=number == request)

    def client_tools(self) -> Iterator[ToolSpec]:
        if self.tool_choice == "none":
            return
        yield from openai_tools(self.tools or (), "tools")
        for number, item in enumerate(self.items):
            if _kind(item) == "additional_tools":
                yield from openai_tools(item.get("tools") or (), f"input[{number}].tools")


def _kind(item: dict[str, Any]) -> str:
    """Messages and references need not name their type."""
    return str(item.get("type") or ("message" if "role" in item else "item_reference"))


def _role(item: dict[str, Any]) -> str:
    """As far as it matters for finding the request."""
    match _kind(item):
        case "message":
            return str(item.get("role"))
        case "function_call" | "custom_tool_call" | "item_reference":
            return "assistant"
        case kind:
            return "tool" if kind in _OUTPUTS else "system"


def _read_item(item: dict[str, Any], place: str, *, strict: bool) -> Iterator[ChatMessage]:
    """Nothing for earlier progress, and for items between another model and its provider."""
    match _kind(item):
        case "message":
            message = convert(item, ResponseMessage, place)
            content = read_content(message.content, f"{place}.content", strict=strict)
            yield ChatMessage(role_of(message.role, place), content.text, files=content.files)
        case "function_call" | "custom_tool_call" as kind:
            made = convert(item, ResponseCall, place)
            name = name_for_models(made.name, made.namespace or "")
            freeform = kind == "custom_tool_call"
            call = ToolCall(made.call_id, name, {"input": made.input}) if freeform else None
            yield ChatMessage("assistant", calls=(call or tool_call(made.call_id, name, made.arguments),))
        case kind if kind in _OUTPUTS:
            given = convert(item, CallOutput, place)
            content = inline_texts(read_content(given.output, f"{place}.output"))
            yield ChatMessage("tool", content.text, answers=given.call_id, files=content.files)


async def respond(request: Request) -> Response:
    body, house = await read_body(request, ResponseBody), house_of(request)
    agent = find_model(house.moot, body.model)
    body.check(agent)
    recalled = {id: await _recall(request, id) for id in body.references}
    messages = [*body.read_messages(recalled.__getitem__)]
    after = (body.previous_response_id or "").removeprefix(PREFIX)
    asked = conversation_with(request, agent, messages, body.client_tools(), body.metadata, alone=not after)
    if after:
        past = await _find_answer(house, after, "previous_response_id")
        asked = continue_from(asked, agent.id, past.awaited.name, past.drafts)

    def wire(run: AwaitedRun) -> ResponseEvents:
        head = _head(
            f"{PREFIX}{run.name}",
            unix_seconds(house.clock.now()),
            body.model,
            previous_response_id=body.previous_response_id,
            instructions=body.instructions,
            metadata=body.metadata or {},
        )
        return ResponseEvents(head)

    return await answer(request, asked, wire, stream=body.stream)


async def response(request: Request) -> Response:
    """A response as it was given, from the journal."""
    moot = house_of(request).moot
    past = await _find_answer(
        house_of(request), request.path_params["id"].removeprefix(PREFIX), "response_id"
    )
    started = past.drafts[0].event
    assert isinstance(started, RunStarted)
    id, created = f"{PREFIX}{past.awaited.name}", unix_seconds(past.drafts[0].ts)
    head = _head(id, created, model_name(moot, started.agent))
    return json_response(whole(head, past.reply(page_of(request))) if past.is_over else head)


async def _recall(request: Request, id: str) -> ChatMessage | None:
    """The message of an item of an earlier answer. Raises `ChatError` if there is none."""
    moot, answered = house_of(request).moot, request.app.state.answered
    kind, _, rest = id.partition("_")
    with suppress(WrongUse):
        if f"{kind}_" in (MESSAGE, REASONING) and rest.startswith(PREFIX):
            past = await find_answer(moot, rest.removeprefix(PREFIX))
            if f"{kind}_" == REASONING:
                return None
            if past.is_over and not (reply := past.reply(page_of(request))).failure:
                return ChatMessage("assistant", reply.text)
        elif f"{kind}_" in (FUNCTION, FREEFORM) and (calling := await answered.calling([rest])):
            item = next(item for item in await moot.inbox(calling.run) if item.id == rest)
            return ChatMessage("assistant", calls=(ToolCall(item.id, item.tool, item.arguments),))
    raise ChatError(404, f"there is no item {id!r} in any answer that was given here", param="input")


async def _find_answer(house: House, name: str, param: str) -> PastAnswer:
    try:
        return await find_answer(house.moot, name)
    except WrongUse as error:
        raise ChatError(404, f"there is no response {PREFIX + name!r}", param=param) from error


def whole(head: dict[str, Any], reply: ChatReply) -> dict[str, Any]:
    done = {**head, "status": "completed", "output": _output(head["id"], reply)}
    if error := reply.failure:
        done |= {"status": "failed", "error": _error(error), "output": []}
    return {**done, "usage": _usage(reply.usage), "folkmoot": reply.about}


def _head(id: str, created: int, model: str, **more: Any) -> dict[str, Any]:
    """What is known before the run has ended."""
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


class ResponseEvents:
    """One response, whole or event by event; progress is a summary of reasoning."""

    alive = b": still here\n\n"

    def __init__(self, head: dict[str, Any]) -> None:
        self._head = head
        self._id: str = head["id"]
        self._sent = 0
        self._progress = ""
        self._text = ""

    def whole(self, reply: ChatReply) -> dict[str, Any]:
        return whole(self._head, reply)

    def start(self) -> Iterator[bytes]:
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

    def text(self, piece: str) -> Iterator[bytes]:
        if not self._text:
            yield from self._end_progress()
            yield from self._begin_message()
        self._text += piece
        yield self._event("response.output_text.delta", **self._in_message, delta=piece, logprobs=[])

    def end(self, reply: ChatReply) -> Iterator[bytes]:
        if not self._text:
            yield from self._end_progress()
        output = [self._reasoning] if self._progress else []
        for item in _output(self._id, reply):
            yield from self._end_message(item) if item["type"] == "message" else self._call(len(output), item)
            yield self._event("response.output_item.done", output_index=len(output), item=item)
            output.append(item)
        yield self._event("response.completed", response={**whole(self._head, reply), "output": output})

    def fail(self, error: ChatError) -> Iterator[bytes]:
        failed = {**self._head, "status": "failed", "error": _error(error)}
        yield self._event("response.failed", response=failed)

    @property
    def _reasoning(self) -> dict[str, Any]:
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
    def _in_message(self) -> dict[str, Any]:
        index = 1 if self._progress else 0
        return {"item_id": _message(self._id, "")["id"], "output_index": index, "content_index": 0}

    def _begin_message(self) -> Iterator[bytes]:
        place, empty = self._in_message, _message(self._id, "")
        item = {**empty, "status": "in_progress", "content": []}
        yield self._event("response.output_item.added", output_index=place["output_index"], item=item)
        yield self._event("response.content_part.added", **place, part=empty["content"][0])

    def _end_message(self, item: dict[str, Any]) -> Iterator[bytes]:
        if not self._text:
            yield from self._begin_message()
        (part,) = item["content"]
        yield self._event("response.output_text.done", **self._in_message, text=part["text"], logprobs=[])
        yield self._event("response.content_part.done", **self._in_message, part=part)

    def _call(self, index: int, item: dict[str, Any]) -> Iterator[bytes]:
        place, given = {"item_id": item["id"], "output_index": index}, "arguments"
        kind, named = "response.function_call_arguments", {"name": item["name"]}
        if item["type"] == "custom_tool_call":
            kind, given, named = "response.custom_tool_call_input", "input", {}
        begun = {**item, given: "", "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=index, item=begun)
        yield self._event(f"{kind}.delta", **place, delta=item[given])
        yield self._event(f"{kind}.done", **place, **named, **{given: item[given]})

    def _event(self, type: str, /, **data: Any) -> bytes:
        number, self._sent = self._sent, self._sent + 1
        return event({"type": type, "sequence_number": number, **data}, type)


def _output(id: str, reply: ChatReply) -> list[dict[str, Any]]:
    calls = [_call(call) for call in reply.calls]
    if calls and not reply.text:
        return calls
    return [_message(id, reply.text), *calls]


def _message(id: str, text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"id": f"{MESSAGE}{id}", "type": "message", "status": "completed", "role": "assistant"}
    return {**message, "content": [part]}


def _call(call: ClientCall) -> dict[str, Any]:
    named = {"call_id": call.id, "name": call.tool.name, "status": "completed"}
    if call.tool.namespace:
        named["namespace"] = call.tool.namespace
    if call.tool.freeform:
        return {"id": f"{FREEFORM}{call.id}", "type": "custom_tool_call", **named, "input": call.text}
    return {"id": f"{FUNCTION}{call.id}", "type": "function_call", **named, "arguments": call.text}


def _error(error: ChatError) -> dict[str, Any]:
    return {"code": error.code or "server_error", "message": str(error)}


def _usage(spent: Totals) -> dict[str, Any]:
    return {
        "input_tokens": spent.tokens_in,
        "input_tokens_details": {"cached_tokens": spent.tokens_cache_read},
        "output_tokens": spent.tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": spent.tokens_in + spent.tokens_out,
    }


ROUTES = (Route("/responses", respond, methods=["POST"]), Route("/responses/{id}", response))
