"""Every provider that speaks neither of our two wire formats, asked through the model classes of pydantic-ai.

Only this file knows that package. It is asked for one answer at a time:
its agents, its loop and its retries are not used. The libraries that it brings look for keys in the environment where
they are given none, so they are always given one: the key that the project names, and no other, goes to an address.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from pydantic_ai import exceptions
from pydantic_ai import messages as said
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.providers import Provider as Vendor
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from folkmoot.domain.message import Answer, Message, Thought, ToolSpec, Usage
from folkmoot.domain.part import TEXT, Part
from folkmoot.domain.providers import OWN_CREDENTIALS, address_of
from folkmoot.domain.settings import Provider
from folkmoot.domain.text import storable
from folkmoot.errors import FailureKind, ModelFailed, WrongUse
from folkmoot.models import failure
from folkmoot.models.incoming import count, counted, joined, tool_call, whole_characters
from folkmoot.models.outgoing import (
    NO_RESULT,
    Strictness,
    Transcript,
    arguments_schema,
    not_blank,
    sight_of,
    stray_result,
    visible,
    wire_call,
)
from folkmoot.ports import Hear, Request

_NO_KEY = "none"
_UNSAID = (None, "default", "inherit")


class PydanticAI:
    """One provider that pydantic-ai knows."""

    def __init__(self, name: str, provider: Provider, key: str) -> None:
        """Raises ImportError for a package that is missing, and `WrongUse` for what the provider cannot have."""
        self._name = name
        self._key = key
        self._headers = provider.headers
        self._kind = provider.provider or ""
        self._sees = sight_of(provider)
        self._vendor = _opened(name, provider, key)
        self._models: dict[str, Model[Any]] = {}
        self._strictness = Strictness()

    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        return await self._strictness.attempt(request, lambda strict: self._attempt(request, hear, strict))

    async def aclose(self) -> None:
        async with self._vendor:
            pass  # leaving it is what closes its connections

    async def _attempt(self, request: Request, hear: Hear | None, strict: bool) -> Answer:
        messages = visible(request.messages, self._sees, self._name)
        try:
            model = self._model(request.model)
            offered = ModelRequestParameters(function_tools=[_tool(tool, strict) for tool in request.tools])
            id_length = model.profile.get("tool_call_id_length")
            talk = conversation(messages, request.contents, model.system, id_length)
            settings = self._settings(request, model)
            if hear is None:
                return _answer(await model.request(talk, settings, offered))
            async with model.request_stream(talk, settings, offered) as stream:
                return await _heard(stream, hear)
        except Exception as error:  # foreign libraries raise what they like
            raise _failure_of(self._name, error, self._key) from None

    def _model(self, name: str) -> Model[Any]:
        if name not in self._models:
            self._models[name] = infer_model(f"{self._kind}:{name}", lambda _: self._vendor)
        return self._models[name]

    def _settings(self, request: Request, model: Model[Any]) -> ModelSettings:
        """What this provider takes of what the agent sets."""
        if self._headers and "extra_headers" in model.unsupported_settings:
            raise WrongUse(f"{self._kind} takes no `headers`; leave them out")
        tuning, effort = request.tuning, request.tuning.reasoning
        wanted: dict[str, Any] = {
            "max_tokens": request.max_output,
            "max_retries": 0,
            "temperature": tuning.temperature,
            "top_p": tuning.top_p,
            "top_k": tuning.top_k,
            "thinking": None if effort in _UNSAID else False if effort == "none" else effort,
            "cache": tuning.caching == "full",
            "extra_headers": {**request.trace, **self._headers} or None,
        }
        settings = ModelSettings()
        for name, value in wanted.items():
            if value is not None and name not in model.unsupported_settings:
                settings[name] = value  # type: ignore[literal-required]
        return settings


def _opened(name: str, provider: Provider, key: str) -> Vendor[Any]:
    kind = provider.provider or ""
    try:
        vendor = infer_provider_class(kind)
    except ValueError:
        raise WrongUse(
            f"{name} cannot be asked: pydantic-ai knows no provider {kind!r}; correct `provider`"
        ) from None
    if provider.base_url and "base_url" not in inspect.signature(vendor).parameters:
        raise WrongUse(f"{name} cannot be asked elsewhere: {kind} has no `baseUrl`; leave it out")
    address = address_of(provider)
    given = {"base_url": address} if "://" in address else {}
    if key or provider.base_url or kind not in OWN_CREDENTIALS:
        given["api_key"] = key or _NO_KEY
    try:
        return vendor(**given)
    except ImportError:
        raise
    except Exception as error:  # it lacks a region, say
        raise WrongUse(str(_failure_of(name, error, key))) from None


def _tool(tool: ToolSpec, strict: bool) -> ToolDefinition:
    schema = arguments_schema(tool, strict, key="parameters_json_schema")
    return ToolDefinition(name=tool.name, description=tool.description, **schema)


_DRAWN = "pyd_ai_"


class _NoAnswer(Exception):
    """Nothing went wrong that the library noticed, and yet there is no answer."""


def _answer(response: said.ModelResponse) -> Answer:
    stop = _stop(response)
    if not (response.parts or stop):
        raise _NoAnswer("answered 200 OK with what is no answer (it holds nothing)")
    calls = [part for part in response.parts if isinstance(part, said.ToolCallPart)]
    text = [part.content for part in response.parts if isinstance(part, said.TextPart)]
    return Answer(
        message=Message(
            "assistant",
            joined(text),
            tuple([tool_call(_id(call), call.tool_name, call.args) for call in calls]),
            thoughts=tuple(thoughts(response.parts)),
        ),
        usage=_counted(response.usage),
        stop=stop,
    )


async def _heard(stream: StreamedResponse, hear: Hear) -> Answer:
    say = whole_characters(hear)
    async for event in stream:
        if piece := _piece(event):
            say(piece)
    response = stream.get()
    if not _stop(response):
        raise _NoAnswer("broke off in the middle of its answer")
    return _answer(response)


def _failure_of(provider: str, error: Exception, secret: str) -> ModelFailed:
    kind: FailureKind = "timeout" if isinstance(error, exceptions.ModelTimeoutError) else "unknown"
    match error:
        case exceptions.ModelHTTPError():
            body = error.body if isinstance(error.body, str) else json.dumps(error.body, default=str)
            headers = {**_wait_in(error.body), **(error.headers or {})}
            return failure.of_status(provider, error.status_code, headers, body.encode(), secret)
        case _NoAnswer():
            return ModelFailed(f"{provider} {error}", retryable=True)
        case exceptions.ModelTimeoutError():
            why, retryable = f"was silent for too long ({error.message})", True
        case exceptions.ModelConnectionError():
            why, retryable = f"could not be reached ({error.message})", True
        case exceptions.UserError() | WrongUse():
            why, retryable = f"cannot be asked: {error}", False
        case exceptions.AgentRunError():
            why, retryable = f"answered with what is no answer ({error.message})", True
        case _:
            why, retryable = f"could not be asked ({type(error).__name__}: {error})", True
    return ModelFailed(f"{provider} {failure.cleaned(why, secret)}", retryable=retryable, kind=kind)


def _wait_in(body: Any) -> dict[str, str]:
    """Google says in the body, not in a header, how long it wants to be left alone: `34.5s`."""
    error = body.get("error") if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(wait := detail.get("retryDelay"), str):
            return {"retry-after": wait.removesuffix("s")}
    return {}


def _piece(event: Any) -> str:
    """Only what is said aloud: not what it thinks, nor the arguments of its calls."""
    match event:
        case said.PartStartEvent(part=said.TextPart(content=text)):
            return text
        case said.PartDeltaEvent(delta=said.TextPartDelta(content_delta=text)):
            return text
    return ""


def _stop(response: said.ModelResponse) -> str:
    """The provider's own word, where the library keeps it."""
    details = response.provider_details or {}
    return storable(str(details.get("finish_reason") or response.finish_reason or ""))


def _id(call: said.ToolCallPart) -> str:
    """The provider's; one that the library drew in its place says nothing, and would differ each time."""
    return "" if call.tool_call_id.startswith(_DRAWN) else call.tool_call_id


def _counted(usage: Any) -> Usage:
    """Input counts all of it here too, cached or not."""
    into = count(usage.input_tokens)
    cached = min(count(usage.cache_read_tokens), into)
    written = min(count(usage.cache_write_tokens), into - cached)
    return counted(into, count(usage.output_tokens), cached, written)


_IDS = re.compile(r"[A-Za-z0-9_-]{1,40}")
_GO_ON = Message("user", "Go on.")


def conversation(
    messages: Sequence[Message], contents: Mapping[str, bytes], system: str, id_length: int | None
) -> list[said.ModelMessage]:
    """`system` is what the package calls the provider; some take ids of one length only."""
    talk = _Conversation(contents, system, id_length)
    for message in messages:
        talk.add(message)
    talk.close()
    if not talk.messages or isinstance(talk.messages[-1], said.ModelResponse):
        talk.add(_GO_ON)
    return talk.messages


class _Conversation:
    def __init__(self, contents: Mapping[str, bytes], system: str, id_length: int | None) -> None:
        self.messages: list[said.ModelMessage] = []
        self._contents = contents
        self._system = system
        self._id_length = id_length
        self._ids = Transcript()
        self._names: dict[str, str] = {}

    def add(self, message: Message) -> None:
        match message.role:
            case "tool":
                id = self._ids.answered(message.answers)
                images = [each for part in message.parts for each in self._enclosed(part)]
                self._tell(self._result(id, message.text, images))
            case "assistant":
                self.close()
                if not self.messages:
                    self.add(_GO_ON)
                answer = said.ModelResponse(parts=list(self._answer(message)), provider_name=self._system)
                self.messages.append(answer)
            case "system" if not any(isinstance(one, said.ModelResponse) for one in self.messages):
                self._tell(said.SystemPromptPart(not_blank(message.text)))
            case _:
                self.close()
                enclosed = [each for part in message.parts for each in self._enclosed(part)]
                text = not_blank(message.text)
                self._tell(said.UserPromptPart([*enclosed, text] if enclosed else text))

    def close(self) -> None:
        """Every call has a result before anything else is said."""
        for id in self._ids.unanswered():
            self._tell(self._result(id, NO_RESULT))

    def _tell(self, part: said.ModelRequestPart) -> None:
        last = self.messages[-1] if self.messages else None
        if isinstance(last, said.ModelRequest):
            last.parts = [*last.parts, part]
        else:
            self.messages.append(said.ModelRequest(parts=[part]))

    def _answer(self, message: Message) -> Iterator[said.ModelResponsePart]:
        """Thoughts go back as they came: before the piece that they led to, or as details of it."""
        pieces: list[said.TextPart | said.ToolCallPart] = []
        if message.text.strip() or not message.calls:
            pieces.append(said.TextPart(not_blank(message.text)))
        for call in message.calls:
            id = self._ids.id_for(call, _IDS)
            self._names[id], arguments = wire_call(call)
            pieces.append(said.ToolCallPart(self._names[id], arguments, self._fitting(id)))
        for place, piece in enumerate(pieces):
            for thought in message.thoughts:
                if thought.at == place and thought.sealed:
                    seal = {**json.loads(thought.sealed), "provider_name": self._system}
                    if thought.kind == "thinking":
                        yield said.ThinkingPart(thought.text, **seal)
                    else:
                        piece.provider_name, piece.provider_details = self._system, seal["provider_details"]
            yield piece

    def _enclosed(self, part: Part) -> Iterator[said.UserContent]:
        content = self._contents[part.artifact]
        if part.media == TEXT:
            yield f"{part.name}:\n{content.decode()}"
        else:
            yield f"{part.name}:"
            yield said.BinaryContent(content, media_type=part.media)

    def _result(self, id: str, text: str, images: Sequence[said.UserContent] = ()) -> said.ModelRequestPart:
        if not id:
            return said.UserPromptPart(stray_result(text))
        content = [text, *images] if images else text
        return said.ToolReturnPart(self._names[id], content, self._fitting(id))

    def _fitting(self, id: str) -> str:
        return blake2b(id.encode()).hexdigest()[: self._id_length] if self._id_length else id


def thoughts(parts: Sequence[said.ModelResponsePart]) -> Iterator[Thought]:
    """What a model thought, with what its provider wants to have back; the other way of `_answer`."""
    at, spoke = 0, False
    for part in parts:
        match part:
            case said.ThinkingPart():
                yield Thought("thinking", part.content, _sealed(part, "id", "signature"), at)
            case said.ToolCallPart():
                if sealed := _sealed(part):
                    yield Thought("reasoning_details", sealed=sealed, at=at)
                at += 1
            case said.TextPart() if part.content and not spoke:
                at, spoke = at + 1, True


def _sealed(part: Any, *fields: str) -> str:
    """Empty where there is nothing that only the provider could read."""
    kept = {field: getattr(part, field) for field in (*fields, "provider_details") if getattr(part, field)}
    return json.dumps(kept, default=str) if kept else ""
