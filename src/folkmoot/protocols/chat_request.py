"""Reads what a chat client sends, as far as it matters here: unknown fields are ignored. Its models are our agents.

A tool that is only offered refuses no request: tools that run at the client's usual provider are left out, and a name
that models cannot call, or that is in use here, is replaced. Calls go back under the client's own name and in its form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.message import Origin, ToolCall, ToolSpec
from folkmoot.domain.naming import wire_name
from folkmoot.domain.providers import BUILT_IN
from folkmoot.errors import WrongUse
from folkmoot.http.chat_errors import ChatError
from folkmoot.http.problems import Refused
from folkmoot.http.reading import body_of
from folkmoot.models.outgoing import sight_of
from folkmoot.orchestration.kit import facing
from folkmoot.protocols.conversation import Role, Vision

T = TypeVar("T", bound=msgspec.Struct)
ToolName = Annotated[str, Meta(min_length=1)]
ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
WORK_SESSION = "x-folkmoot-work-session"
_PLACE = re.compile(r" - at `\$\.?(.*)`$")
_MISSING = re.compile(r"missing required field `(\w+)`")
_SESSION = re.compile("ws_[A-Za-z0-9_-]+")
_ANYTHING = {"type": "object", "properties": {}}
_ONE_TEXT = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


async def read_body(request: Request, type: type[T]) -> T:
    """Raises `ChatError` that names the wrong field."""
    try:
        return body_of(await request.body(), type)
    except Refused as error:
        place, missing = _PLACE.search(str(error)), _MISSING.search(str(error))
        names = [found[1] for found in (place, missing) if found]
        raise ChatError(error.status, str(error), param=".".join(names) or None) from error


def convert(given: Any, type: type[T], place: str) -> T:
    """A part of a body that is read apart from the rest. Raises `ChatError`."""
    try:
        return msgspec.convert(given, type)
    except msgspec.ValidationError as error:
        found = _PLACE.search(str(error))
        param = f"{place}.{found[1]}" if found else place
        words = f"{param} is not what is wanted: {_PLACE.sub('', str(error))}"
        raise ChatError(400, words, param=param) from error


def json_response(document: Any) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json")


def list_models(moot: Folkmoot) -> dict[str, Agent]:
    """By id, or by path where several agents have the same id."""
    agents = moot.graph.agents.values()
    shared = Counter(agent.id for agent in agents)
    return {agent.id if shared[agent.id] == 1 else agent.file.removesuffix(".ai"): agent for agent in agents}


def find_model(moot: Folkmoot, model: str) -> Agent:
    """An agent by its name as a model, or by its file. Raises `ChatError`."""
    known = list_models(moot)
    if agent := known.get(model):
        return agent
    try:
        return moot.agent(model)
    except WrongUse as error:
        words = f"there is no model {model!r}; the models here are the agents: {', '.join(known)}"
        raise ChatError(404, words, param="model", code="model_not_found") from error


def model_name(moot: Folkmoot, file: str) -> str:
    """Of an agent; its file, if it is not in the project any more."""
    return next((name for name, agent in list_models(moot).items() if agent.file == file), file)


def vision_of(moot: Folkmoot, agent: Agent) -> Vision:
    """Of all agents that may come to speak with the client: no images, if one of them surely takes none; files for half
    of the smallest context window."""
    agents = [*facing(moot.graph, agent)]
    windows = [choice.context_window for one in agents for choice in one.models]
    if not windows:
        return Vision()
    providers = {**BUILT_IN, **moot.graph.settings.providers}
    images: bool | None = True
    for one in agents:
        takes = [
            sight_of(providers[choice.provider]) if choice.provider in providers else None
            for choice in one.models
        ]
        if takes and all(sees is False for sees in takes):
            return Vision(False, min(windows) // 2)
        images = images if all(takes) else None
    return Vision(images, min(windows) // 2)


def work_session_of(request: Request, metadata: Mapping[str, str] | None = None) -> str:
    """The one that the client names; empty if it names none."""
    named = request.headers.get(WORK_SESSION) or (metadata or {}).get("work_session", "")
    if named and not _SESSION.fullmatch(named):
        raise ChatError(400, f"{named!r} is no work session; their names begin with ws_", param="metadata")
    return named


def refuse(reasons: Mapping[str, object], code: str = "unsupported_value") -> None:
    """Raise `ChatError` for the first field with a reason: it would be left undone without a word."""
    for param, reason in reasons.items():
        if reason:
            raise ChatError(400, str(reason), param=param, code=code)


def request_number(roles: Sequence[str]) -> int:
    """The number of the message that is the request: the last one, if it is the user's; -1 if there is none."""
    spoken = [number for number, role in enumerate(roles) if role not in ("system", "developer")]
    return spoken[-1] if spoken and roles[spoken[-1]] == "user" else -1


def role_of(role: str, place: str) -> Role:
    if role not in ROLES:
        raise ChatError(400, f"there is no role {role!r}; use {', '.join(ROLES)}", param=f"{place}.role")
    return ROLES[role]


def unix_seconds(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp())


class TypedOption(msgspec.Struct):
    type: str


def unsupported_openai(agent: Agent, wanted: TypedOption | None, choice: object) -> tuple[str, str]:
    """Why the format of the answer, and the choice of a tool, cannot be had."""
    given = {"text", "json_object"} if agent.output.format == "json" else {"text"}
    declared = f"the form of what {agent.id} reports is declared in its file ({agent.output.format}), not by who asks"
    return (
        declared if wanted and wanted.type not in given else "",
        "an agent chooses its tools itself; send `auto` or `none`"
        if choice not in (None, "auto", "none")
        else "",
    )


def tool_call(id: str, name: str, arguments: str) -> ToolCall:
    """Of a client's tool, as the client repeats it."""
    try:
        return ToolCall(id, name, msgspec.json.decode(arguments or "{}", type=dict[str, Any]))
    except msgspec.DecodeError:
        return ToolCall(id, name, malformed=arguments)


class ClientFunction(msgspec.Struct):
    name: ToolName
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Grammar(msgspec.Struct):
    syntax: str = ""
    definition: str = ""


class FreeformFormat(Grammar, kw_only=True):
    """Of the text that a freeform tool takes. OpenAI's two APIs place the grammar differently."""

    type: str
    grammar: Grammar | None = None


class ClientFreeform(msgspec.Struct):
    name: ToolName
    description: str | None = None
    format: FreeformFormat | None = None


class _Namespace(msgspec.Struct):
    name: str
    tools: list[dict[str, Any]]


def openai_tools(
    tools: Iterable[dict[str, Any]], place: str, namespace: str = "", *, nested: bool = False
) -> Iterator[ToolSpec]:
    """Those that the client can be asked to call. `nested`: each is described below the name of its type.

    Tools that run elsewhere, or have a protocol of their own, are left out.
    """
    for number, tool in enumerate(tools):
        at, kind = f"{place}[{number}]", tool.get("type")
        described: Any = tool
        if nested and kind in ("function", "custom"):
            if (described := tool.get(kind)) is None:
                raise ChatError(400, f"a tool of the type `{kind}` says in `{kind}` what it is", param=at)
            at = f"{at}.{kind}"
        if kind == "function":
            function = convert(described, ClientFunction, at)
            yield function_spec(function.name, function.description, function.parameters, namespace)
        elif kind == "custom":
            yield _freeform_spec(convert(described, ClientFreeform, at), namespace)
        elif kind == "namespace" and not nested:
            group = convert(tool, _Namespace, at)
            yield from openai_tools(group.tools, f"{at}.tools", group.name)


def function_spec(
    name: str, description: str | None, parameters: dict[str, Any] | None, namespace: str = ""
) -> ToolSpec:
    wire = name_for_models(name, namespace)
    origin = Origin(name, namespace) if wire != name else None
    return ToolSpec(wire, description or "", parameters or _ANYTHING, origin=origin)


def _freeform_spec(tool: ClientFreeform, namespace: str) -> ToolSpec:
    about = [tool.description or ""]
    if tool.format and tool.format.type == "grammar":
        grammar = tool.format.grammar or tool.format
        about.append(f"`input` follows this grammar ({grammar.syntax}):\n{grammar.definition}")
    origin = Origin(tool.name, namespace, freeform=True)
    wire = name_for_models(tool.name, namespace)
    return ToolSpec(wire, "\n\n".join(filter(None, about)), _ONE_TEXT, origin=origin)


def name_for_models(name: str, namespace: str = "") -> str:
    return wire_name(f"{namespace}.{name}" if namespace else name)


def with_free_names(tools: Iterable[ToolSpec], used: Iterable[str]) -> Iterator[ToolSpec]:
    """The same tools, renamed where a name is `used`. Of those that the client itself cannot tell apart, the first."""
    names = {*used}
    seen: set[Origin] = set()
    for spec in tools:
        origin = spec.origin or Origin(spec.name)
        if origin in seen:
            continue
        seen.add(origin)
        name = spec.name
        while name in names:
            name = name_for_models(name, "client")
        names.add(name)
        yield spec if name == spec.name else msgspec.structs.replace(spec, name=name, origin=origin)
