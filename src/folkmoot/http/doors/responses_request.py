"""What OpenAI's clients ask for in the Responses API: the body, and what of it cannot be had here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from folkmoot.domain.agent import Agent
from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.http.doors.client_tools import (
    FreeformTool,
    FunctionTool,
    freeform_spec,
    function_spec,
    name_for_models,
)
from folkmoot.http.doors.contents import Content, inline_texts, read_content
from folkmoot.http.doors.conversation import Said
from folkmoot.http.doors.openai_request import Format, chosen_by_the_agent, require_format, role_of
from folkmoot.http.doors.reading import call, converted, number_of_request
from folkmoot.http.doors.wrong import Wrong

PREFIX = "resp_"
Recall = Callable[[str], Said | None]
"""What an item was, by its id; none if it said nothing. Raises `Wrong` if there was no such item."""
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


class Message(msgspec.Struct):
    role: str
    content: Content = None


class Call(msgspec.Struct):
    """Of a function, or of a freeform tool, which takes one text."""

    call_id: str
    name: str
    namespace: str | None = None
    arguments: str = ""
    input: str = ""


class Output(msgspec.Struct):
    call_id: str
    output: Content = None


class Namespace(msgspec.Struct):
    name: str
    tools: list[dict[str, Any]]


class Text(msgspec.Struct):
    format: Format | None = None


class ResponseBody(msgspec.Struct, kw_only=True):
    """Fields that nobody reads here, such as `store`, `include` or `service_tier`, are let be."""

    model: str
    input: str | list[dict[str, Any]]
    instructions: Content = None
    previous_response_id: str | None = None
    stream: bool | None = None
    tools: list[dict[str, Any]] | None = None
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

    @property
    def references(self) -> list[str]:
        """The ids of items that the client names instead of repeating them."""
        items = () if isinstance(self.input, str) else self.input
        return [str(item.get("id")) for item in items if _kind(item) == "item_reference"]

    def said(self, recall: Recall) -> Iterator[Said]:
        if self.instructions:
            yield Said("system", read_content(self.instructions, "instructions").text)
        if isinstance(self.input, str):
            yield Said("user", self.input)
            return
        request = number_of_request([_role(item) for item in self.input])
        for number, item in enumerate(self.input):
            if _kind(item) == "item_reference":
                yield from filter(None, [recall(str(item.get("id")))])
            else:
                yield from _said(item, f"input[{number}]", strict=number == request)

    def client_tools(self) -> Iterator[ToolSpec]:
        if self.tool_choice == "none":
            return
        yield from _specs(self.tools or (), "tools")
        for number, item in enumerate(() if isinstance(self.input, str) else self.input):
            if _kind(item) == "additional_tools":
                yield from _specs(item.get("tools") or (), f"input[{number}].tools")


def _specs(tools: Sequence[dict[str, Any]], place: str, namespace: str = "") -> Iterator[ToolSpec]:
    """Those that the client can be asked to call. What runs elsewhere, or has a protocol of its own, is only offered:
    the agent does without it."""
    for number, tool in enumerate(tools):
        at = f"{place}[{number}]"
        match tool.get("type"):
            case "function":
                yield function_spec(converted(tool, FunctionTool, at), namespace)
            case "custom":
                yield freeform_spec(converted(tool, FreeformTool, at), namespace)
            case "namespace":
                group = converted(tool, Namespace, at)
                yield from _specs(group.tools, f"{at}.tools", group.name)


def _kind(item: dict[str, Any]) -> str:
    """A message and a reference need not say what they are."""
    return str(item.get("type") or ("message" if "role" in item else "item_reference"))


def _role(item: dict[str, Any]) -> str:
    """As far as it matters to what is asked now."""
    match _kind(item):
        case "message":
            return str(item.get("role"))
        case "function_call" | "custom_tool_call" | "item_reference":
            return "assistant"
        case kind:
            return "tool" if kind in _OUTPUTS else "system"


def _said(item: dict[str, Any], place: str, *, strict: bool) -> Iterator[Said]:
    match _kind(item):
        case "message":
            message = converted(item, Message, place)
            content = read_content(message.content, f"{place}.content", strict=strict)
            yield Said(role_of(message.role, place), content.text, files=content.files)
        case "function_call" | "custom_tool_call" as kind:
            made = converted(item, Call, place)
            name = name_for_models(made.name, made.namespace or "")
            if kind == "custom_tool_call":
                yield Said("assistant", calls=(ToolCall(made.call_id, name, {"input": made.input}),))
            else:
                yield Said("assistant", calls=(call(made.call_id, name, made.arguments),))
        case kind if kind in _OUTPUTS:
            given = converted(item, Output, place)
            content = inline_texts(read_content(given.output, f"{place}.output"))
            yield Said("tool", content.text, answers=given.call_id, files=content.files)
        case _:
            return  # progress that was told before, or what another model and its provider had between them
