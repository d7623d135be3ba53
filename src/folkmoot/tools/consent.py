"""Consent: what a project wants to do on this machine, item by item, and what its user has granted.

A grant holds for one value of one item. It is kept outside the project, per user and folder, so that nothing in the
project can grant itself anything; a changed value asks again, for that item alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Literal

import msgspec

from folkmoot.domain.value import Value
from folkmoot.errors import Untrusted
from folkmoot.tools.mcp.listing import Listings

Kind = Literal[
    "module", "server", "program", "gate", "address", "variable", "storage", "sink", "folder", "host"
]


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


class Grant(Value):
    """An item as it was granted."""

    name: str
    text: str


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

    def grant(self, folder: Path, items: Iterable[ConsentItem]) -> None:
        """A new value of an item takes the place of the old one in lists, but the old grant holds: runs may need it."""
        consent = self.of(folder)
        fresh = {item.id: Grant(item.name, item.text) for item in items}
        self.write(folder, msgspec.structs.replace(consent, grants={**consent.grants, **fresh}))

    def write(self, folder: Path, consent: FolderConsent) -> None:
        file = self._file(folder)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = file.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(consent), indent=1))
        fresh.chmod(0o600)
        fresh.replace(file)

    def _file(self, folder: Path) -> Path:
        return self._folder / f"{sha256(str(folder.resolve()).encode()).hexdigest()[:32]}.json"


def require_consent(folder: Path, wanted: Iterable[ConsentItem]) -> None:
    """Raises `Untrusted` with everything that is not granted, and what to type."""
    if missing := ConsentStore().missing(folder, wanted):
        listed = "".join(f"\n  - {item.text}" for item in missing)
        raise Untrusted(f"this project wants to:{listed}\nallow it with: folkmoot trust {quote(str(folder))}")


def is_changed(consent: FolderConsent, item: ConsentItem) -> bool:
    """Whether another value of this item was granted before."""
    return any(
        grant.name == item.name and id.startswith(f"{item.kind}-") and id != item.id
        for id, grant in consent.grants.items()
    )


def state_folder() -> Path:
    """Where this user keeps what belongs to no project: `$FOLKMOOT_STATE`, by default in the XDG state folder."""
    if own := os.environ.get("FOLKMOOT_STATE"):
        return Path(own)
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "folkmoot"


def by_content(folder: Path, files: Iterable[str]) -> Iterator[str]:
    """Each file with the hash of its content, which is empty where it cannot be read."""
    for file in files:
        try:
            content = (folder / file).read_bytes()
        except OSError:
            content = b""
        yield f"{file} {sha256(content).hexdigest()}"
