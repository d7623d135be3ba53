"""What OpenAI's clients ask for in chat completions: the body, and what of it cannot be had here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from folkmoot.domain.agent import Agent
from folkmoot.domain.message import ToolSpec
from folkmoot.http.doors.conversation import Said
from folkmoot.http.doors.reading import apart, call
from folkmoot.http.doors.wrong import Wrong

ROLES: dict[str, Literal["system", "user", "assistant", "tool"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_TEXTS = ("text", "input_text", "output_text", "refusal")


class Part(msgspec.Struct):
    """Of a message's content."""

    type: str
    text: str = ""
    refusal: str = ""
    image_url: Any = None
    file: Any = None
    file_data: Any = None
    filename: Any = None


Content = str | list[Part] | None


class Function(msgspec.Struct):
    name: str
    arguments: str = ""


class Call(msgspec.Struct):
    id: str
    function: Function


class Message(msgspec.Struct):
    role: str
    content: Content = None
    tool_calls: list[Call] | None = None
    tool_call_id: str = ""


class FunctionTool(msgspec.Struct):
    name: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$")]
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(msgspec.Struct):
    type: str
    function: FunctionTool | None = None


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
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    n: int | None = None
    stop: Any = None
    logprobs: bool | None = None
    modalities: list[str] | None = None
    audio: Any = None
    functions: list[Any] | None = None
    web_search_options: Any = None
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
            "functions": self.functions and "`functions` is given up by OpenAI too; send `tools`",
            "web_search_options": self.web_search_options
            and "give the agent a tool that searches, in its file",
        }
        for param, why in refused.items():
            if why:
                raise Wrong(400, str(why), param=param, code="unsupported_value")

    def said(self) -> Iterator[Said]:
        for number, message in enumerate(self.messages):
            place = f"messages[{number}]"
            if message.role not in ROLES:
                raise Wrong(
                    400, f"there is no role {message.role!r}; use {', '.join(ROLES)}", param=f"{place}.role"
                )
            said = message.content
            content, files = apart(said, f"{place}.content") if message.role == "user" else (said, ())
            yield Said(
                ROLES[message.role],
                text_of(content, f"{place}.content"),
                tuple(
                    call(one.id, one.function.name, one.function.arguments)
                    for one in message.tool_calls or ()
                ),
                message.tool_call_id if message.role == "tool" else "",
                files=files,
            )

    def client_tools(self) -> Iterator[ToolSpec]:
        for number, tool in enumerate(self.tools or () if self.tool_choice != "none" else ()):
            if tool.type != "function" or tool.function is None:
                raise Wrong(400, "only tools of the type `function` are known here", param=f"tools[{number}]")
            yield tool_of(tool.function)


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


def tool_of(function: FunctionTool) -> ToolSpec:
    anything = {"type": "object", "properties": {}}
    return ToolSpec(function.name, function.description or "", function.parameters or anything)


def text_of(content: Content, param: str) -> str:
    """Raises `Wrong` for what is no text."""
    if isinstance(content, list):
        return "".join(_texts(content, param))
    return content or ""


def _texts(parts: Iterable[Part], param: str) -> Iterator[str]:
    for number, part in enumerate(parts):
        if part.type not in _TEXTS:
            raise Wrong(
                400,
                f"parts of the type {part.type!r} are not read here; send text",
                param=f"{param}[{number}].type",
            )
        yield part.text or part.refusal
