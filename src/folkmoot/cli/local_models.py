"""Model servers on this machine: which of the usual ports answers, with which models, and how a project uses them.

Each is asked once for its list, without a key, and all at once; one that does not answer quickly is not there.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Sequence
from typing import Literal

import aiohttp
import msgspec
from msgspec.structs import replace

from folkmoot.cli.output import format_one_line
from folkmoot.errors import WrongUse

USUAL = {
    11434: "ollama",
    1234: "lmstudio",
    8080: "llamacpp",
    8000: "vllm",
    30000: "sglang",
    1337: "jan",
    4891: "gpt4all",
    5000: "textgen",
}
"""The ports that servers listen on unless they are told otherwise, and whose each is."""
PATIENCE = 1.0
"""Seconds for a server to answer."""
_UNAUTHORIZED = 401
_LARGEST = 1024 * 1024
_SHOWN = 10
"""Models that are named; of the others only how many."""
_GUESSED = 8_192
"""Tokens of context, for a server that does not say how many it has room for."""
_LAST_PORT = 65_535
_ADDRESS = re.compile(r"(?:(?P<host>[A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\]):)?(?P<port>\d{1,5})")


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that `folkmoot doctor` found."""

    id: str
    status: Literal["ok", "warning", "failed"]
    text: str
    provider: str = ""
    """Of a model server: its line below `providers` in `folkmoot.yaml`."""
    model: str = ""
    """Of a model server: one of its models, as `models` takes it."""


class ModelServer(msgspec.Struct, frozen=True):
    """A server that answered."""

    address: str
    provider: str
    """What a project may call it."""
    models: tuple[str, ...] = ()
    window: int = 0
    """The least context of its models; 0 if it does not say."""
    locked: bool = False
    """It wants a key, and may be anything."""

    @property
    def port(self) -> str:
        return self.address.rpartition(":")[2]

    @property
    def base_url(self) -> str:
        return f"http://{self.address}/v1"


class _Meta(msgspec.Struct):
    n_ctx: int = 0
    n_ctx_train: int = 0


class _Model(msgspec.Struct):
    id: str
    owned_by: str = ""
    max_model_len: int = 0
    max_context_length: int = 0
    meta: _Meta | None = None

    @property
    def window(self) -> int:
        meta = self.meta or _Meta()
        return self.max_model_len or self.max_context_length or meta.n_ctx or meta.n_ctx_train


class _Models(msgspec.Struct):
    data: list[_Model]


def list_addresses(given: Sequence[str]) -> list[str]:
    """Where to look: at these, or at the usual ports. Raises `WrongUse` for what is no address."""
    if not given:
        return [f"127.0.0.1:{port}" for port in USUAL]
    return [_parse_address(each) for each in given]


def _parse_address(given: str) -> str:
    match = _ADDRESS.fullmatch(given)
    if not match or int(match["port"]) > _LAST_PORT:
        raise WrongUse(f"--look-at takes HOST:PORT or PORT, not {given!r}")
    return f"{match['host'] or '127.0.0.1'}:{match['port']}"


def find_model_servers(given: Sequence[str], used: Collection[str | None]) -> list[Finding]:
    """`used` are the addresses that the project's providers have."""
    wanted = list_addresses(given)
    found = asyncio.run(_query_servers(wanted))
    if not found:
        where = f"at {', '.join(wanted)}" if given else "on the usual ports of this machine"
        return [Finding("local models", "ok", f"no model server answers {where}")]
    return [_describe_server(server, server.base_url in used) for server in found]


def render_provider_settings(found: Sequence[Finding]) -> list[str]:
    """What to write into `folkmoot.yaml` to use them: the first model found is the one that agents get."""
    providers = [finding.provider for finding in found if finding.provider]
    models = [finding.model for finding in found if finding.model]
    return ["providers:", *providers, "models:", f"  default: {models[0]}"] if models else []


async def _query_servers(wanted: Sequence[str]) -> list[ModelServer]:
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(timeout=timeout, cookie_jar=jar, trust_env=False) as session:
        answers = await asyncio.gather(
            *(_query_server(session, address) for address in dict.fromkeys(wanted))
        )
    named: dict[str, ModelServer] = {}
    for found in answers:
        if found:  # two servers of one make need two names
            name = found.provider if found.provider not in named else f"{found.provider}-{found.port}"
            named[name] = replace(found, provider=name)
    return list(named.values())


async def _query_server(session: aiohttp.ClientSession, address: str) -> ModelServer | None:
    url = f"http://{address}/v1/models"
    name = USUAL.get(int(address.rpartition(":")[2]), "local")
    try:
        async with session.get(url, allow_redirects=False) as answer:
            if answer.status == _UNAUTHORIZED:
                return ModelServer(address, name, locked=True)
            said = await _read_body(answer) if answer.status == 200 else b""
        listed = msgspec.json.decode(said, type=_Models).data
    except (aiohttp.ClientError, OSError, ValueError, TimeoutError):  # whatever it is, it is no model server
        return None
    owner = next((model.owned_by for model in listed if model.owned_by in USUAL.values()), name)
    windows = [model.window for model in listed if model.window > 0]
    return ModelServer(address, owner, tuple(model.id for model in listed), min(windows, default=0))


async def _read_body(answer: aiohttp.ClientResponse) -> bytes:
    said = bytearray()
    async for part in answer.content.iter_any():
        said += part
        if len(said) > _LARGEST:
            raise ValueError("no list of models is so long")
    return bytes(said)


def _describe_server(server: ModelServer, used: bool) -> Finding:
    id = f"models at {server.address}"
    if server.locked:
        return Finding(
            id, "ok", "something wants a key; if it is a model server, see `apiKeyEnv` of a provider"
        )
    if not server.models:
        return Finding(id, "warning", f"{server.provider} has no model: load one into it")
    names = ", ".join(format_one_line(model, 80) for model in server.models[:_SHOWN])
    left = len(server.models) - _SHOWN
    text = f"{server.provider}: {names}{f' and {left} more' if left > 0 else ''}"
    if used:
        return Finding(id, "ok", f"{text}; the project uses it")
    speaking = [model for model in server.models if "embed" not in model.lower()] or server.models
    return Finding(id, "ok", text, _render_provider(server), json.dumps(f"{server.provider}/{speaking[0]}"))


def _render_provider(server: ModelServer) -> str:
    guess = "" if server.window else "  # a guess: it does not say"
    url, window = json.dumps(server.base_url), server.window or _GUESSED
    return (
        f"  {server.provider}: {{kind: openai, baseUrl: {url}, price: free, contextWindow: {window}}}{guess}"
    )
