"""Which adapter speaks to which provider, each imported and built when it is first chosen; and what is known of models.

Prices and context windows are those of `known.json` (made by `checks/known_models.py`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from folkmoot.domain.agent import KnownModel, ModelChoice
from folkmoot.domain.budget import Price
from folkmoot.domain.message import Answer
from folkmoot.domain.providers import BUILT_IN, OWN_CREDENTIALS, address_of, key_variable
from folkmoot.domain.settings import Provider
from folkmoot.errors import DeclarationError, ModelFailed, NotFound, Problem, WrongUse
from folkmoot.ports import Hear, Model, Request

if TYPE_CHECKING:
    from folkmoot.models.a2a import RemoteAgent
    from folkmoot.models.http import Pool
    from folkmoot.models.pydantic_ai import PydanticAI


class ProviderModels:
    """All models that a project can ask, by provider."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        env: Mapping[str, str],
        folder: Path,
        *,
        extra: Mapping[str, Model] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`providers` stand before the built-in ones, and the model objects of `extra` before all."""
        self._providers = {**BUILT_IN, **providers}
        self._env = env
        self._folder = folder
        self._sleep = sleep
        self._given = frozenset(extra or ())
        self._built: dict[str, Model] = dict(extra or {})
        self._pool: Pool | None = None
        self._opened: list[PydanticAI | RemoteAgent] = []

    def choose(self, choice: ModelChoice) -> Model:
        """The adapter of the choice's provider. A missing key fails the request, not this call."""
        name = choice.provider
        if name not in self._built:
            if name not in self._providers:
                raise NotFound(
                    f"there is no provider {name!r}; known are {', '.join(sorted(self._providers))}",
                    code="provider_not_found",
                )
            self._built[name] = self._build(name, self._providers[name])
        return self._built[name]

    def missing_key(self, provider: str) -> str:
        """The environment variable that this provider needs and that is not set; empty if none."""
        variable = key_variable(self._providers[provider]) if provider in self._providers else ""
        return "" if provider in self._given or self._env.get(variable, "").strip() else variable

    def problems(self) -> Iterator[Problem]:
        """What is wrong with the scripts that this project's providers answer from."""
        for name, provider in self._providers.items():
            if provider.kind == "scripted" and name not in self._given:
                try:
                    self._scripted(name, provider)
                except DeclarationError as error:
                    yield from error.problems

    async def remote_card(self, choice: ModelChoice) -> str:
        """What a remote agent says of itself. Raises `ModelFailed`."""
        return await cast("RemoteAgent | Unusable", self.choose(choice)).described()

    async def aclose(self) -> None:
        if self._pool is not None:
            await self._pool.aclose()
        for adapter in self._opened:
            await adapter.aclose()

    def _build(self, name: str, provider: Provider) -> Model:
        if provider.kind == "scripted":
            return self._scripted(name, provider)
        variable = key_variable(provider)
        key = self._env.get(variable, "").strip() if variable else ""
        if variable and not key:
            return Unusable(f"{name} needs a key: set the environment variable {variable}")
        if not (key.isascii() and key.isprintable()) or " " in key:
            return Unusable(f"{name} cannot use its key: {variable} holds characters that no key has")
        if not all(text.isprintable() for header in provider.headers.items() for text in header):
            return Unusable(f"{name} cannot use its headers: one holds a control character")
        ways = {"a2a": self._remote, "pydantic-ai": self._through_pydantic_ai}
        return ways.get(provider.kind, self._over_http)(name, provider, key)

    def _remote(self, name: str, provider: Provider, key: str) -> Model:
        try:
            from folkmoot.models.a2a import RemoteAgent
        except ImportError as error:
            return Unusable(
                f"{name} needs a package that is not installed ({error}); install it with: pip install 'folkmoot[a2a]'"
            )
        from folkmoot.models.http import proxy_for

        url = provider.base_url or ""
        remote = RemoteAgent(name, url, key, proxy_for(url, self._env), self._sleep)
        self._opened.append(remote)
        return remote

    def _through_pydantic_ai(self, name: str, provider: Provider, key: str) -> Model:
        vendor = provider.provider or ""
        if not (key or provider.base_url or vendor in OWN_CREDENTIALS):
            return Unusable(f"{name} needs a key: name its environment variable with `apiKeyEnv`")
        try:
            from folkmoot.models.pydantic_ai import PydanticAI

            adapter = PydanticAI(name, provider, key)
        except ImportError as error:
            return Unusable(f"{name} needs packages that are not installed: {installing(vendor, error)}")
        except WrongUse as error:
            return Unusable(str(error))
        self._opened.append(adapter)
        return adapter

    def _over_http(self, name: str, provider: Provider, key: str) -> Model:
        from folkmoot.models import anthropic, http, openai
        from folkmoot.models.outgoing import sight_of

        base = address_of(provider)
        if self._pool is None:
            self._pool = http.Pool()
        wire = anthropic if provider.kind == "anthropic" else openai
        try:
            endpoint = http.ModelEndpoint(
                self._pool,
                name,
                _joined(base, wire.PATH),
                headers={**wire.headers(key), **provider.headers},
                secret=key,
                proxy=http.proxy_for(base, self._env),
            )
        except ValueError:
            return Unusable(f"{name} has no usable address: give it a baseUrl like https://host/v1")
        sees = sight_of(provider)
        if wire is anthropic:
            return anthropic.Anthropic(endpoint, sees)
        return openai.OpenAI(endpoint, base, sees)

    def _scripted(self, name: str, provider: Provider) -> Model:
        from folkmoot.models.script import read_script_file
        from folkmoot.models.scripted import ScriptedModel

        if not provider.script:
            message = f"provider {name!r} is scripted and needs `script`: the YAML file with its answers"
            raise DeclarationError([Problem(file="folkmoot.yaml", message=message)])
        file = (self._folder / provider.script).resolve()
        if not file.is_relative_to(self._folder.resolve()):
            message = f"the script {provider.script!r} of provider {name!r} lies outside the project"
            raise DeclarationError([Problem(file="folkmoot.yaml", message=message)])
        return ScriptedModel(read_script_file(self._folder, provider.script), sleep=self._sleep)


class Unusable:
    """Stands for a provider that cannot be asked, and says why."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        raise ModelFailed(self._reason, retryable=False)

    async def described(self) -> str:
        raise ModelFailed(self._reason, retryable=False)


def _joined(base: str, path: str) -> str:
    """The path goes before a query, which some hosts want."""
    address, mark, query = base.partition("?")
    return address.rstrip("/") + path + mark + query


_LIBRARIES = {
    "google": "google.genai",
    "google-cloud": "google.genai",
    "mistral": "mistralai",
    "cohere": "cohere",
    "bedrock": "boto3",
}
_EXTRA = re.compile(r"pydantic-ai-slim\[(\w+)\]")


def missing_library(provider: Provider) -> str:
    """What installs it, as far as that can be told without importing it; empty if nothing is missing."""
    vendor = provider.provider or ""
    wanted = ("pydantic_ai", _LIBRARIES.get(vendor, "pydantic_ai"))
    if provider.kind != "pydantic-ai" or all(map(_is_there, wanted)):
        return ""
    return installing(vendor.removesuffix("-cloud"))


def installing(vendor: str, error: ImportError | None = None) -> str:
    """The command; pydantic-ai names in its error the extra that a library belongs to."""
    named = _EXTRA.search(str(error))
    return f"pip install 'folkmoot[providers]' 'pydantic-ai-slim[{named[1] if named else vendor}]'"


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:  # of the package that it is in
        return False


_DATED = re.compile(r"[-@](?:\d{8}|\d{4}-\d\d-\d\d|latest)$")


@cache
def known_models() -> Mapping[str, KnownModel]:
    """By `provider/model`. A name with a date or `-latest` at its end is found under the bare name."""
    rows = msgspec.json.decode(
        Path(__file__).with_name("known.json").read_bytes(), type=dict[str, list[_Row]]
    )
    return _Known({name: row for row_list in rows.values() for row in row_list for name in row.names})


class _Row(msgspec.Struct, array_like=True):
    """One line of the data file."""

    names: list[str]
    context_window: int
    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


class _Known(Mapping[str, KnownModel]):
    def __init__(self, rows: dict[str, _Row]) -> None:
        self._rows = rows

    def __getitem__(self, ref: str) -> KnownModel:
        row = self._rows.get(ref) or self._rows[_DATED.sub("", ref)]
        return KnownModel(row.context_window, Price(row.input, row.output, row.cache_read, row.cache_write))

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
