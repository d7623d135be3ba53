"""What a session has read, and the files that its calls name: what the gate goes by."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase, translate
from functools import cache
from posixpath import normpath
from typing import Annotated, Any

from msgspec import Meta

from folkmoot.domain.value import Value


class Change(Value):
    path: str
    """In the working folder, without `.` and double slashes."""
    added: int = 0
    removed: int = 0

    @property
    def lines(self) -> int:
        return self.added + self.removed


_PATH_KEY = re.compile(r"path|file|dir|folder|target|dest|name", re.I)
_HEADER = re.compile(
    r"^(?:\+\+\+|---|rename to|\*\*\* (?:Add|Update|Delete) File:) (?:[ab]/)?(.+?)(?:\t.*)?$", re.M
)
_CHANGED = re.compile(r"^(?:\+(?!\+\+ )|-(?!-- ))", re.M)


class Escalation(Value, forbid_unknown_fields=True):
    """Which changes a person must see, whatever else allows them."""

    lines: Annotated[int, Meta(ge=1)] = 200
    """A change of more lines than this."""
    paths: tuple[str, ...] = (
        ".env*",
        "*.pem",
        "*key*",
        ".git/**",
        ".github/workflows/**",
        ".gitlab-ci.yml",
        ".circleci/**",
        ".travis.yml",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
        "Jenkinsfile",
        "folkmoot.yaml",
        "*.ai",
    )
    """A change of files that fit one of these; without a `/`, any part of the path may fit. The last two are what
    decides about agents."""


def escalated(arguments: dict[str, Any], limits: Escalation) -> str:
    """Why a call of a tool that writes must be seen by a person; empty if it need not."""
    lines = 0
    for key, text in _texts("", arguments):
        for path in _paths(key, text):
            if pattern := fitting(path, limits.paths):
                return f"{path!r} fits `{pattern}`"
        lines += _lines(text)
    return f"{lines} changed lines are more than {limits.lines}" if lines > limits.lines else ""


def named_paths(arguments: dict[str, Any]) -> frozenset[str]:
    """The files that a call names, each in one spelling."""
    return frozenset(path for key, text in _texts("", arguments) for path in _paths(key, text))


def _texts(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(name, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(key, inner)


def _paths(key: str, text: str) -> Iterator[str]:
    if "\n" in text:
        yield from (_plain(found) for found in _HEADER.findall(text))
    elif text and (_PATH_KEY.search(key) or ("/" in text and " " not in text) or text.startswith(".")):
        yield _plain(text)


def _plain(path: str) -> str:
    return normpath(path.strip().replace("\\", "/"))


def _lines(text: str) -> int:
    if "\n" not in text:
        return 1
    return len(_CHANGED.findall(text)) if "\n@@ " in f"\n{text}" else len(text.splitlines())


def fitting(path: str, patterns: tuple[str, ...]) -> str:
    """The first pattern that a path fits, at any depth."""
    parts = path.lower().split("/")
    tails = ["/".join(parts[at:]) for at in range(len(parts))]
    for pattern, wanted in _compiled(patterns):
        if any(map(wanted, tails if "/" in pattern else parts)):
            return pattern
    return ""


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[tuple[str, Callable[[str], object]], ...]:
    return tuple((each, re.compile(translate(each.lower().replace("**", "*"))).match) for each in patterns)


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
