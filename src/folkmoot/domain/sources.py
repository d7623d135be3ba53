"""Where text in a session came from that must not decide what it does, or must not get out. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from posixpath import normpath
from typing import Any

from folkmoot.domain.escalation import fitting, named_paths
from folkmoot.domain.value import Value

MOST = 8
"""Sources that are kept of each sort: more of them change no decision."""
_NAMED = 3
"""Sources that a reason names."""
SECRET_PATHS = (
    ".env*",
    "*.pem",
    "*.p12",
    "*.pfx",
    "*key*",
    "id_rsa*",
    "id_ed25519*",
    ".ssh/**",
    ".aws/**",
    ".netrc",
    ".npmrc",
    ".pypirc",
    "*credential*",
    "*secret*",
)
"""What a session that has read it must not send anywhere without approval."""


class Source(Value):
    text: str
    """What was read, such as `what web__fetch gave buyer in turn 2`."""
    secret: bool = False
    """It may be relied on, but must not get out. Otherwise nobody vouches for it."""


Sources = tuple[Source, ...]


def joined(*several: Iterable[Source]) -> Sources:
    """All of them, each once, in their order."""
    every = dict.fromkeys(source for sources in several for source in sources)
    kept = [[source for source in every if source.secret is secret][:MOST] for secret in (False, True)]
    return (*kept[0], *kept[1])


def untrusted(sources: Sources) -> Sources:
    return tuple(source for source in sources if not source.secret)


def secret(sources: Sources) -> Sources:
    return tuple(source for source in sources if source.secret)


def named(sources: Sources) -> str:
    shown = ", ".join(source.text for source in sources[:_NAMED])
    more = len(sources) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def secret_paths(arguments: dict[str, Any], patterns: tuple[str, ...]) -> Iterable[Source]:
    """The files that a call names and that fit one of these."""
    for path in sorted(named_paths(arguments)):
        if pattern := fitting(path, patterns):
            yield Source(f"{path!r}, which fits `{pattern}`", secret=True)


def is_trusted(path: str, globs: tuple[str, ...]) -> bool:
    """Whether a path of the project fits one of these: `*` is a part of a name, `**` any number of folders."""
    parts = normpath(path).split("/")
    return ".." not in parts and any(_fits(parts, glob.split("/")) for glob in globs)


def _fits(parts: list[str], wanted: list[str]) -> bool:
    if not wanted:
        return not parts
    if wanted[0] == "**":
        return _fits(parts, wanted[1:]) or (bool(parts) and _fits(parts[1:], wanted))
    return bool(parts) and fnmatchcase(parts[0], wanted[0]) and _fits(parts[1:], wanted[1:])
