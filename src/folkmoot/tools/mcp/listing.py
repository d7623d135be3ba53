"""What a server offers, and what of that its user has trusted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Graph
from folkmoot.domain.settings import ToolSource
from folkmoot.domain.value import Value
from folkmoot.errors import Problem


class Offer(Value):
    """A tool as its server describes it."""

    name: str
    description: str
    parameters: dict[str, Any]
    result: dict[str, Any] | None = None
    """JSON Schema of what it gives, if it says so."""
    read_only: bool = False
    """It says that it changes nothing; that counts once a user has trusted it with these words."""


def mark_of(source: ToolSource) -> str:
    """Changes with everything that decides what is started or asked, and what it is given."""
    told = (source.command, source.url, source.env, source.cwd, source.headers)
    return f"server {sha256(msgspec.json.encode(told, order='deterministic')).hexdigest()}"


def changes(trusted: Iterable[Offer], found: Iterable[Offer]) -> Iterator[tuple[str, str]]:
    """Every tool that is not what was trusted, and what is different."""
    now = {offer.name: offer for offer in found}
    before = {offer.name: offer for offer in trusted}
    for name, offer in before.items():
        if name not in now:
            yield name, "is gone"
        elif now[name].description != offer.description:
            yield name, "has another description"
        elif replace(now[name], read_only=offer.read_only) != offer:
            yield name, "has another schema"
    for name in now.keys() - before.keys():
        yield name, "is new"


def unknown_tools(graph: Graph, folder: Path, listings: Listings) -> Iterator[Problem]:
    """What agents name of a server that does not have it. Of a server that nobody has looked at nothing is known."""
    for agent in graph.agents.values():
        for server, _, tool in (name.partition(".") for name in agent.tools):
            source = graph.settings.tools.get(server)
            if tool and source and source.kind == "mcp" and (has := listings.of(folder, mark_of(source))):
                known = [offer.name for offer in has]
                if tool not in known:
                    message = f"the tool server {server!r} has no tool {tool!r}; it has {', '.join(known)}"
                    yield Problem(file=agent.file, message=message)


class Listings:
    """Kept per user beside what they trust: project folder -> mark of a server -> what it offers."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def of(self, folder: Path, mark: str) -> tuple[Offer, ...] | None:
        return self._read().get(str(folder.resolve()), {}).get(mark)

    def keep(self, folder: Path, mark: str, offers: tuple[Offer, ...]) -> None:
        known = self._read()
        known.setdefault(str(folder.resolve()), {})[mark] = offers
        write_private(self._file, msgspec.json.format(msgspec.json.encode(known), indent=1))

    def _read(self) -> dict[str, dict[str, tuple[Offer, ...]]]:
        """A file that cannot be read holds nothing."""
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, dict[str, tuple[Offer, ...]]])
        except (OSError, msgspec.MsgspecError):
            return {}


def write_private(file: Path, content: bytes) -> None:
    """Whole or not at all, and for this user alone."""
    for folder in (file.parent.parent, file.parent):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = file.with_suffix(f".{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_bytes(content)
    fresh.replace(file)
