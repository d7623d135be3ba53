"""`/v1/responses`: an agent asked through OpenAI's Responses API. A response is a run, or a part of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from folkmoot.http.problems import ChatError
from folkmoot.http.state import ServerState, get_server_state
from folkmoot.protocols import wire
from folkmoot.protocols.answers import AnsweredRuns, AwaitedRun, PastAnswer, find_answer
from folkmoot.protocols.chat_runs import read_server_url
from folkmoot.protocols.content import (
    Content,
    convert_part,
    inline_texts,
    name_for_models,
    parse_tool_call,
    read_content,
    read_openai_tools,
)
from folkmoot.protocols.conversation import ChatMessage, continue_from
from folkmoot.protocols.responses_events import (
    FREEFORM,
    FUNCTION,
    MESSAGE,
    REASONING,
    ResponseEvents,
    response_head,
)

PREFIX = "resp_"
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
    format: wire.TypedOption | None = None


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
        format, choice = wire.describe_unsupported(agent, wanted, self.tool_choice)
        wire.refuse_unsupported(
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

    def read_messages(self, recalled: Mapping[str, ChatMessage | None]) -> Iterator[ChatMessage]:
        """`recalled` are the items that the client names by their ids instead of repeating them."""
        if self.instructions:
            yield ChatMessage("system", read_content(self.instructions, "instructions").text)
        if isinstance(self.input, str):
            yield ChatMessage("user", self.input)
        request = wire.request_number([_item_role(item) for item in self.items])
        for number, item in enumerate(self.items):
            if _item_type(item) == "item_reference":
                yield from filter(None, [recalled[str(item.get("id"))]])
            else:
                yield from _read_item(item, f"input[{number}]", strict=number == request)

    def client_tools(self) -> Iterator[ToolSpec]:
        if self.tool_choice == "none":
            return
        yield from read_openai_tools(self.tools or (), "tools")
        for number, item in enumerate(self.items):
            if _item_type(item) == "additional_tools":
                yield from read_openai_tools(item.get("tools") or (), f"input[{number}].tools")


def _item_type(item: dict[str, Any]) -> str:
    """Messages and references need not name their type."""
    return str(item.get("type") or ("message" if "role" in item else "item_reference"))


def _item_role(item: dict[str, Any]) -> str:
    """As far as it matters for finding the request."""
    match _item_type(item):
        case "message":
            return str(item.get("role"))
        case "function_call" | "custom_tool_call" | "item_reference":
            return "assistant"
        case kind:
            return "tool" if kind in _OUTPUTS else "system"


def _read_item(item: dict[str, Any], place: str, *, strict: bool) -> Iterator[ChatMessage]:
    """Nothing for earlier progress, and for items between another model and its provider."""
    match _item_type(item):
        case "message":
            message = convert_part(item, ResponseMessage, place)
            content = read_content(message.content, f"{place}.content", strict=strict)
            yield ChatMessage(wire.role_of(message.role, place), content.text, files=content.files)
        case "function_call" | "custom_tool_call" as kind:
            made = convert_part(item, ResponseCall, place)
            name = name_for_models(made.name, made.namespace or "")
            freeform = kind == "custom_tool_call"
            call = ToolCall(made.call_id, name, {"input": made.input}) if freeform else None
            yield ChatMessage(
                "assistant", calls=(call or parse_tool_call(made.call_id, name, made.arguments),)
            )
        case kind if kind in _OUTPUTS:
            given = convert_part(item, CallOutput, place)
            content = inline_texts(read_content(given.output, f"{place}.output"))
            yield ChatMessage("tool", content.text, answers=given.call_id, files=content.files)


async def create_response(request: Request) -> Response:
    body, house = await wire.read_body(request, ResponseBody), get_server_state(request)
    agent = wire.find_model(house.moot, body.model)
    body.check(agent)
    references = [str(item.get("id")) for item in body.items if _item_type(item) == "item_reference"]
    recalled = {id: await _find_item(request, id) for id in references}
    messages = [*body.read_messages(recalled)]
    after = (body.previous_response_id or "").removeprefix(PREFIX)
    asked = wire.build_chat_request(
        request, agent, messages, body.client_tools(), body.metadata, alone=not after
    )
    if after:
        past = await _find_answer(house, after, "previous_response_id")
        asked = continue_from(asked, agent.id, past.awaited.name, past.drafts)

    def make_wire(run: AwaitedRun) -> ResponseEvents:
        head = response_head(
            f"{PREFIX}{run.name}",
            wire.unix_seconds(house.clock.now()),
            body.model,
            previous_response_id=body.previous_response_id,
            instructions=body.instructions,
            metadata=body.metadata or {},
        )
        return ResponseEvents(head)

    return await wire.answer_request(request, asked, make_wire, stream=body.stream)


async def show_response(request: Request) -> Response:
    """A response as it was given, from the journal."""
    moot = get_server_state(request).moot
    past = await _find_answer(
        get_server_state(request), request.path_params["id"].removeprefix(PREFIX), "response_id"
    )
    started = past.drafts[0].event
    assert isinstance(started, RunStarted)
    id, created = f"{PREFIX}{past.awaited.name}", wire.unix_seconds(past.drafts[0].ts)
    head = response_head(id, created, wire.model_name(moot, started.agent))
    return wire.json_response(
        ResponseEvents(head).whole(past.reply(read_server_url(request))) if past.is_over else head
    )


async def _find_item(request: Request, id: str) -> ChatMessage | None:
    """The message of an item of an earlier answer. Raises `ChatError` if there is none."""
    moot, answered = get_server_state(request).moot, get_server_state(request).one(AnsweredRuns)
    kind, _, rest = id.partition("_")
    with suppress(WrongUse):
        if f"{kind}_" in (MESSAGE, REASONING) and rest.startswith(PREFIX):
            past = await find_answer(moot, rest.removeprefix(PREFIX))
            if f"{kind}_" == REASONING:
                return None
            if past.is_over and not (reply := past.reply(read_server_url(request))).failure:
                return ChatMessage("assistant", reply.text)
        elif f"{kind}_" in (FUNCTION, FREEFORM) and (calling := await answered.calling([rest])):
            item = next(item for item in await moot.inbox(calling.run) if item.id == rest)
            return ChatMessage("assistant", calls=(ToolCall(item.id, item.tool, item.arguments),))
    raise ChatError(404, f"there is no item {id!r} in any answer that was given here", param="input")


async def _find_answer(house: ServerState, name: str, param: str) -> PastAnswer:
    try:
        return await find_answer(house.moot, name)
    except WrongUse as error:
        raise ChatError(404, f"there is no response {PREFIX + name!r}", param=param) from error


ROUTES = (Route("/responses", create_response, methods=["POST"]), Route("/responses/{id}", show_response))
