"""Every provider that speaks neither of our two wire formats, asked through the model classes of pydantic-ai.

Only this file, `pydantic_ai_talk` and `pydantic_ai_reply` know that package. It is asked for one answer at a time:
its agents, its loop and its retries are not used. The libraries that it brings look for keys in the environment where
they are given none, so they are always given one: the key that the project names, and no other, goes to an address.
"""

from __future__ import annotations

import inspect
from typing import Any

from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.providers import Provider as Vendor
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from folkmoot.domain.message import Answer, ToolSpec
from folkmoot.domain.providers import OWN_CREDENTIALS, address_of
from folkmoot.domain.settings import Provider
from folkmoot.errors import WrongUse
from folkmoot.models import pydantic_ai_reply as reply
from folkmoot.models.pydantic_ai_talk import conversation
from folkmoot.models.sight import sight_of, visible
from folkmoot.models.strict import Strictness, closed_arguments
from folkmoot.models.transcript import wire_schema
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
            talk = conversation(
                messages,
                request.contents,
                model.system,
                model.profile.get("tool_call_id_length"),
            )
            settings = self._settings(request, model)
            if hear is None:
                return reply.answer(await model.request(talk, settings, offered))
            async with model.request_stream(talk, settings, offered) as stream:
                return await reply.heard(stream, hear)
        except Exception as error:  # foreign libraries raise what they like
            raise reply.failure_of(self._name, error, self._key) from None

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
        raise WrongUse(str(reply.failure_of(name, error, key))) from None


def _tool(tool: ToolSpec, strict: bool) -> ToolDefinition:
    closed = closed_arguments(tool) if strict else None
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=closed or wire_schema(tool),
        strict=True if closed else None,
    )
