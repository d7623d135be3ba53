"""What a project wants this machine to do beyond asking well-known providers, and what its user has allowed."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from folkmoot.domain.builtins import Builtins
from folkmoot.domain.naming import VARIABLE
from folkmoot.domain.providers import BUILT_IN, REMOTE, address_of, key_variable
from folkmoot.domain.settings import Provider, Settings, ToolSource
from folkmoot.domain.sinks import OTLP_HEADERS, SinkSettings
from folkmoot.domain.value import Value
from folkmoot.tools.mcp.listing import Listings, mark_of
from folkmoot.tools.modules import imported_files

LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Wish(Value):
    """Something that is used only after `folkmoot trust`."""

    text: str
    """For people: what would happen."""
    mark: str
    """Changes whenever the thing itself changes, so that a changed one asks again."""


def wishes(folder: Path, settings: Settings) -> list[Wish]:
    modules = [module_wish(folder, tool.module) for tool in settings.tools.values() if tool.module]
    addresses = [
        _address(name, provider) for name, provider in settings.providers.items() if _foreign(provider)
    ]
    servers = [_server(name, tool) for name, tool in settings.tools.items() if tool.kind == "mcp"]
    sinks = [_sink(name, sink) for name, sink in settings.sinks.items() if _goes_out(sink)]
    return modules + servers + addresses + sinks + _beyond(settings.builtins) + _elsewhere(folder, settings)


class TrustStore:
    """Kept per user, outside every project: project folder -> marks of what was allowed there."""

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        base = env.get("XDG_CONFIG_HOME") or Path(env.get("HOME") or Path.home()) / ".config"
        self.file = Path(base) / "folkmoot" / "trust.json"
        self.listings = Listings(self.file.with_name("servers.json"))
        """What the servers that were allowed offered then."""

    def missing(self, folder: Path, wanted: Iterable[Wish]) -> list[Wish]:
        allowed = set(self._read().get(_name(folder), ()))
        return [wish for wish in wanted if wish.mark not in allowed]

    def allow(self, folder: Path, wanted: Iterable[Wish]) -> None:
        known = self._read()
        known[_name(folder)] = sorted({*known.get(_name(folder), ()), *(wish.mark for wish in wanted)})
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(known, indent=1))
        fresh.chmod(0o600)
        fresh.replace(self.file)

    def _read(self) -> dict[str, list[str]]:
        """A store that cannot be read allows nothing."""
        try:
            known = json.loads(self.file.read_text())
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}


def _elsewhere(folder: Path, settings: Settings) -> list[Wish]:
    work_dir = settings.orchestration.sub_agent_work_dir or ""
    if (folder.resolve() / work_dir).is_relative_to(folder.resolve()):
        return []
    return [Wish(f"let agents that are called work in {work_dir}", f"folder {work_dir}")]


def _beyond(builtins: Builtins) -> list[Wish]:
    """Of the built-in tools only what lets them do more than everywhere."""
    hosts, variables = builtins.web.allow, {*builtins.shell.env, *builtins.python.env}
    closed = [Wish(f"let agents fetch from {host}, public or not", f"fetch {host}") for host in hosts]
    given = [
        Wish(f"give ${name} to the programs that agents run", f"env {name}") for name in sorted(variables)
    ]
    return closed + given


def _name(folder: Path) -> str:
    return str(folder.resolve())


def module_wish(folder: Path, module: str) -> Wish:
    """A tool module asks again when a file of the project changes that it imports."""
    files = imported_files(folder, module)
    also = f", which imports {', '.join(files)}" if files else ""
    known = sha256(_content(folder / module))
    for file in files:
        known.update(f"\0{file}\0{sha256(_content(folder / file)).hexdigest()}".encode())
    return Wish(f"run the Python module {module}{also}", f"python {module} {known.hexdigest()}")


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _server(name: str, source: ToolSource) -> Wish:
    told = "".join(f" ${variable}" for variable in source.env)
    told += "".join(
        f" ${variable}" for text in source.headers.values() for variable in VARIABLE.findall(text)
    )
    does = f"start the tool server {name!r}: {shlex.join(source.command)}"
    if source.url:
        does = f"ask the tool server {name!r} at {source.url}"
    where = f" in {source.cwd}" if source.cwd else ""
    return Wish(f"{does}{where}{f' with{told}' if told else ''}", mark_of(source))


def _goes_out(sink: SinkSettings) -> bool:
    return bool(sink.address_env) or (sink.url is not None and urlsplit(sink.url).hostname not in LOOPBACK)


def _sink(name: str, sink: SinkSettings) -> Wish:
    to = f"the address in ${sink.address_env}" if sink.address_env else sink.url
    key = f" signed with ${sink.secret_env}" if sink.secret_env else ""
    told = sorted({*sink.headers_env.values(), *([OTLP_HEADERS] if sink.kind == "otel" else [])})
    key += " with " + " ".join(f"${variable}" for variable in told) if told else ""
    what = "all that is written and said here" if sink.content else "what happens here"
    text = f"send {what} on to {to}{key}, as the sink {name!r}"
    mark = f"sink {sink.kind} {sink.url or ''} {sink.url_env or ''} {sink.secret_env or ''}"
    return Wish(text, mark + "".join(f" {word}" for word in (*told, *(["content"] if sink.content else []))))


def _address(name: str, provider: Provider) -> Wish:
    key = f" with the key in ${provider.api_key_env}" if provider.api_key_env else ""
    of = f"provider {name!r}" if provider.kind != "a2a" else f"the remote agent {name.removeprefix(REMOTE)!r}"
    text = f"send requests of {of} to {address_of(provider)}{key}"
    return Wish(text, f"provider {address_of(provider)} {provider.api_key_env or ''}")


def _foreign(provider: Provider) -> bool:
    """Neither on this machine nor a pair of address and key that is well known."""
    address = address_of(provider)
    if not address or urlsplit(address).hostname in LOOPBACK:
        return False
    known = {(address_of(other), key_variable(other)) for other in BUILT_IN.values()}
    return (address, key_variable(provider)) not in known
