"""Consent: what a project wants to do on this machine, item by item, and what its user has granted.

A grant holds for one value of one item. It is kept outside the project, per user and folder, so that nothing in the
project can grant itself anything; a changed value asks again, for that item alone. Beside the grants lies what the tool
servers offered that were granted: a server whose tools are others since then is not used.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from folkmoot.domain.agent import Graph
from folkmoot.domain.settings import ToolSource
from folkmoot.domain.value import Value
from folkmoot.errors import Problem, Untrusted

Kind = Literal[
    "module", "server", "program", "gate", "address", "variable", "storage", "sink", "folder", "host"
]
_LARGEST_TEXT, _MOST_TEXT = 64 * 1024, 1024 * 1024
"""Bytes of one file, and of all files of one grant, that are kept to show later what changed."""
_DIGEST = re.compile("[0-9a-f]{64}")


class ConsentItem(Value):
    """One thing that a project does only after its user has granted it."""

    kind: Kind
    name: str
    """Where it stands in the project's files, such as `tools.psp`."""
    text: str
    """For people: what would happen, with the exact value."""
    value: str
    """Everything that decides what happens; another value is another item."""

    @property
    def id(self) -> str:
        whole = "\0".join((self.kind, self.name, self.value))
        return f"{self.kind}-{sha256(whole.encode()).hexdigest()[:16]}"

    @property
    def files(self) -> dict[str, str]:
        """Of a module or a server: the hash of each file of the project that is part of its value."""
        return _files(self.kind, self.value)


class Grant(Value):
    """An item as it was granted."""

    name: str
    text: str
    value: str | None = None
    """None in a grant that an earlier release wrote."""
    replaced: bool = False
    """Another value was granted in its place. This one holds all the same: runs may need it."""


class FolderConsent(Value):
    """What one user has granted to the project in one folder."""

    folder: str
    mine: bool = False
    """Nothing is asked here: the folder holds only what its user wrote."""
    grants: dict[str, Grant] = {}
    """By the id of the item."""


class ConsentStore:
    """The grants of this user, one file per project folder. A file that cannot be read grants nothing."""

    def __init__(self) -> None:
        self._folder = state_folder() / "consent"
        self.listings = Listings(self._folder / "servers.json")
        """What the tool servers that were granted offered then."""

    def of(self, folder: Path) -> FolderConsent:
        known = str(folder.resolve())
        try:
            consent = msgspec.json.decode(self._file(folder).read_bytes(), type=FolderConsent)
        except (OSError, msgspec.MsgspecError):
            return FolderConsent(known)
        return consent if consent.folder == known else FolderConsent(known)

    def missing(self, folder: Path, wanted: Iterable[ConsentItem]) -> list[ConsentItem]:
        consent = self.of(folder)
        return [] if consent.mine else [item for item in wanted if item.id not in consent.grants]

    def grant(self, folder: Path, items: Iterable[ConsentItem], replaced: Iterable[str] = ()) -> None:
        """With the texts of the files behind it; `replaced` are the ids of grants whose place these take."""
        granted = list(items)
        consent = self.of(folder)
        old = {id: replace(consent.grants[id], replaced=True) for id in replaced if id in consent.grants}
        fresh = {item.id: Grant(item.name, item.text, item.value) for item in granted}
        for item in granted:
            self._keep_texts(folder, item)
        self.write(folder, replace(consent, grants={**consent.grants, **old, **fresh}))

    def write(self, folder: Path, consent: FolderConsent) -> None:
        write_private(self._file(folder), msgspec.json.format(msgspec.json.encode(consent), indent=1))
        self._drop_texts(folder, consent)

    def text(self, folder: Path, digest: str) -> str | None:
        """What stood in a file when it was granted; None if that is not kept, or is no text."""
        try:
            content = zlib.decompress((self._texts(folder) / digest).read_bytes())
            return content.decode() if sha256(content).hexdigest() == digest else None
        except (OSError, zlib.error, UnicodeDecodeError):
            return None

    def _keep_texts(self, folder: Path, item: ConsentItem) -> None:
        left = _MOST_TEXT
        for file, digest in item.files.items():
            content = _content(folder / file, _LARGEST_TEXT)
            if len(content) <= min(left, _LARGEST_TEXT) and sha256(content).hexdigest() == digest:
                left -= len(content)
                write_private(self._texts(folder) / digest, zlib.compress(content))

    def _drop_texts(self, folder: Path, consent: FolderConsent) -> None:
        """All that no grant names any more."""
        named = {
            digest
            for id, grant in consent.grants.items()
            if not grant.replaced
            for digest in granted_files(id, grant).values()
        }
        texts = self._texts(folder)
        for kept in texts.iterdir() if texts.is_dir() else ():
            if _DIGEST.fullmatch(kept.name) and kept.name not in named:
                kept.unlink(missing_ok=True)

    def _texts(self, folder: Path) -> Path:
        return self._file(folder).with_suffix("")

    def _file(self, folder: Path) -> Path:
        return self._folder / f"{sha256(str(folder.resolve()).encode()).hexdigest()[:32]}.json"


def require_consent(folder: Path, wanted: Iterable[ConsentItem]) -> None:
    """Raises `Untrusted` with everything that is not granted, and what to type."""
    if missing := ConsentStore().missing(folder, wanted):
        listed = "".join(f"\n  - {item.text}" for item in missing)
        raise Untrusted(f"this project wants to:{listed}\nallow it with: folkmoot trust {quote(str(folder))}")


def replaced_grants(
    grants: Mapping[str, Grant], missing: Sequence[ConsentItem], wanted: Iterable[ConsentItem]
) -> dict[str, str]:
    """For each missing item that was granted with another value: the id of that grant, by the id of the item.

    Several items may have one name, as rules do. What the project still wants has not changed; of the rest, those that
    were granted last belong to those that are missing now, in this order.
    """
    still = {item.id for item in wanted}
    found: dict[str, str] = {}
    for kind, name in dict.fromkeys((item.kind, item.name) for item in missing):
        now = [item.id for item in missing if (item.kind, item.name) == (kind, name)]
        before = [
            id
            for id, grant in grants.items()
            if grant.name == name and id.startswith(f"{kind}-") and id not in still and not grant.replaced
        ]
        found |= zip(now, before[-len(now) :], strict=False)
    return found


def granted_files(id: str, grant: Grant) -> dict[str, str]:
    """The hash of each file when it was granted; of a grant that an earlier release wrote nothing is known."""
    return _files(id.partition("-")[0], grant.value or "")


def _files(kind: str, value: str) -> dict[str, str]:
    """As `by_content` wrote them; a server's first line is about its command."""
    if kind not in ("module", "server"):
        return {}
    lines = value.split("\n")[kind == "server" :]
    parts = (line.rpartition(" ") for line in lines)
    return {file: digest for file, _, digest in parts if file and _DIGEST.fullmatch(digest)}


def state_folder() -> Path:
    """Where this user keeps what belongs to no project: `$FOLKMOOT_STATE`, by default in the XDG state folder."""
    if own := os.environ.get("FOLKMOOT_STATE"):
        return Path(own)
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "folkmoot"


def by_content(folder: Path, files: Iterable[str]) -> Iterator[str]:
    """Each file with the hash of its content, which is empty where it cannot be read."""
    for file in files:
        yield f"{file} {sha256(_content(folder / file)).hexdigest()}"


def _content(file: Path, most: int | None = None) -> bytes:
    """Of a file with more than `most` bytes one byte more than that."""
    try:
        with file.open("rb") as opened:
            return opened.read(-1 if most is None else most + 1)
    except OSError:
        return b""


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
