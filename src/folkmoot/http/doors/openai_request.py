"""What OpenAI's clients ask for in chat completions: the body, and what of it cannot be had here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from folkmoot.domain.agent import Agent
from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.http.doors.client_tools import FreeformTool, FunctionTool, freeform_spec, function_spec
from folkmoot.http.doors.contents import Content, inline_texts, read_content
from folkmoot.http.doors.conversation import Said
from folkmoot.http.doors.reading import call, converted, number_of_request
from folkmoot.http.doors.wrong import Wrong

_ROLES: dict[str, Literal["system", "user", "assistant", "tool"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


class Function(msgspec.Struct):
    name: str
    arguments: str = ""


class Freeform(msgspec.Struct):
    name: str
    input: str = ""


class Call(msgspec.Struct):
    id: str
    function: Function | None = None
    custom: Freeform | None = None

    @property
    def wished(self) -> ToolCall:
        if self.custom:
            return ToolCall(self.id, self.custom.name, {"input": self.custom.input})
        function = self.function or Function("")
        return call(self.id, function.name, function.arguments)


class Message(msgspec.Struct):
    role: str
    content: Content = None
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None


class Tool(msgspec.Struct):
    type: str
    function: FunctionTool | None = None
    custom: FreeformTool | None = None


class Format(msgspec.Struct):
    type: str


class StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class ChatBody(msgspec.Struct, kw_only=True):
    """Fields that only tune a model, such as `temperature`, are let be: an agent's file says how its models are
    tuned."""

    model: str
    messages: Annotated[list[Message], Meta(min_length=1)]
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
    response_format: Format | None = None

    def require_possible(self, agent: Agent) -> None:
        """Raises `Wrong` for what would have to be left undone without a word."""
        require_format(agent, self.response_format, "response_format")
        chosen_by_the_agent(self.tool_choice)
        refused = {
            "n": self.n not in (None, 1) and "a request is answered once; leave `n` out",
            "stop": self.stop and "an agent's report is given whole; leave `stop` out",
            "logprobs": self.logprobs and "an agent's report has no log probabilities",
            "modalities": set(self.modalities or ()) - {"text"} and "an agent answers with text",
            "audio": self.audio and "an agent answers with text",
        }
        for param, why in refused.items():
            if why:
                raise Wrong(400, str(why), param=param, code="unsupported_value")

    def said(self) -> Iterator[Said]:
        request = number_of_request([message.role for message in self.messages])
        for number, message in enumerate(self.messages):
            place = f"messages[{number}]"
            role = role_of(message.role, place)
            content = read_content(message.content, f"{place}.content", strict=number == request)
            content = inline_texts(content) if role == "tool" else content
            yield Said(
                role,
                content.text,
                tuple(one.wished for one in message.tool_calls or ()),
                (message.tool_call_id or "") if role == "tool" else "",
                files=content.files,
            )

    def client_tools(self) -> Iterator[ToolSpec]:
        """Those that the client can be asked to call."""
        for number, given in enumerate(self.tools or () if self.tool_choice != "none" else ()):
            kind, place = given.get("type"), f"tools[{number}]"
            tool = converted(given, Tool, place) if kind in ("function", "custom") else None
            if tool and tool.function:
                yield function_spec(tool.function)
            elif tool and tool.custom:
                yield freeform_spec(tool.custom)
            elif tool:
                raise Wrong(400, f"a tool of the type `{kind}` says in `{kind}` what it is", param=place)


def role_of(role: str, place: str) -> Literal["system", "user", "assistant", "tool"]:
    if role not in _ROLES:
        raise Wrong(400, f"there is no role {role!r}; use {', '.join(_ROLES)}", param=f"{place}.role")
    return _ROLES[role]


def require_format(agent: Agent, wanted: Format | None, param: str) -> None:
    given = {"text", "json_object"} if agent.output.format == "json" else {"text"}
    if wanted and wanted.type not in given:
        raise Wrong(
            400,
            f"the form of what {agent.id} reports is declared in its file ({agent.output.format}), not by who asks",
            param=param,
            code="unsupported_value",
        )


def chosen_by_the_agent(choice: str | dict[str, Any] | None) -> None:
    if choice not in (None, "auto", "none"):
        why = "an agent chooses its tools itself; send `auto` or `none`"
        raise Wrong(400, why, param="tool_choice", code="unsupported_value")
