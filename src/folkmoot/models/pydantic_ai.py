"""Every provider that speaks neither of our two wire formats, asked through the model classes of pydantic-ai.

Only this file and `pydantic_ai_talk` know that package. It is asked for one answer at a time:
its agents, its loop and its retries are not used. The libraries that it brings look for keys in the environment where
they are given none, so they are always given one: the key that the project names, and no other, goes to an address.
"""

from __future__ import annotations

import inspect
import json
from typing import Any

from pydantic_ai import exceptions, messages
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.providers import Provider as Vendor
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from folkmoot.domain.message import Answer, Message, ToolSpec, Usage
from folkmoot.domain.providers import OWN_CREDENTIALS, address_of
from folkmoot.domain.settings import Provider
from folkmoot.domain.text import storable
from folkmoot.errors import FailureKind, ModelFailed, WrongUse
from folkmoot.models import failure
from folkmoot.models.incoming import count, counted, joined, tool_call, whole_characters
from folkmoot.models.pydantic_ai_talk import conversation, thoughts
from folkmoot.models.strict import Strictness, closed_arguments
from folkmoot.models.transcript import sight_of, visible, wire_schema
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
    closed = closed_arguments(tool) if strict else None
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=closed or wire_schema(tool),
        strict=True if closed else None,
    )


_DRAWN = "pyd_ai_"


class _NoAnswer(Exception):
    """Nothing went wrong that the library noticed, and yet there is no answer."""


def _answer(response: messages.ModelResponse) -> Answer:
    stop = _stop(response)
    if not (response.parts or stop):
        raise _NoAnswer("answered 200 OK with what is no answer (it holds nothing)")
    calls = [part for part in response.parts if isinstance(part, messages.ToolCallPart)]
    text = [part.content for part in response.parts if isinstance(part, messages.TextPart)]
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
            said, retryable = f"was silent for too long ({error.message})", True
        case exceptions.ModelConnectionError():
            said, retryable = f"could not be reached ({error.message})", True
        case exceptions.UserError() | WrongUse():
            said, retryable = f"cannot be asked: {error}", False
        case exceptions.AgentRunError():
            said, retryable = f"answered with what is no answer ({error.message})", True
        case _:
            said, retryable = f"could not be asked ({type(error).__name__}: {error})", True
    return ModelFailed(f"{provider} {failure.cleaned(said, secret)}", retryable=retryable, kind=kind)


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
        case messages.PartStartEvent(part=messages.TextPart(content=text)):
            return text
        case messages.PartDeltaEvent(delta=messages.TextPartDelta(content_delta=text)):
            return text
    return ""


def _stop(response: messages.ModelResponse) -> str:
    """The provider's own word, where the library keeps it."""
    details = response.provider_details or {}
    return storable(str(details.get("finish_reason") or response.finish_reason or ""))


def _id(call: messages.ToolCallPart) -> str:
    """The provider's; one that the library drew in its place says nothing, and would differ each time."""
    return "" if call.tool_call_id.startswith(_DRAWN) else call.tool_call_id


def _counted(usage: Any) -> Usage:
    """Input counts all of it here too, cached or not."""
    into = count(usage.input_tokens)
    cached = min(count(usage.cache_read_tokens), into)
    written = min(count(usage.cache_write_tokens), into - cached)
    return counted(into, count(usage.output_tokens), cached, written)
