"""What is wrong in a project, collected while it is read, so that its author learns everything at once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import NamedTuple

from msgspec.structs import replace

from folkmoot.errors import DeclarationError, Problem

ENOUGH = 500
"""Whoever has so many problems mends some before asking for more."""
LONGEST = 4_000
"""Characters of one message."""


Report = Callable[..., None]
"""Takes a message and the keys of what is wrong."""


class Location(NamedTuple):
    """Where something stands; counted from 1."""

    file: str
    line: int = 1
    column: int = 1


class Findings:
    """The one list that every check of a load adds to."""

    def __init__(self, code: str = "bad_declaration") -> None:
        """`code` is that of all problems that have none of their own."""
        self._code = code
        self._problems: dict[Problem, None] = {}

    def error(self, place: Location, message: str, code: str = "") -> None:
        """What several agents run into, such as a wrong default, is kept once."""
        self._problems[replace(_problem(place, message), code=code or self._code)] = None
        if len(self._problems) >= ENOUGH:
            raise DeclarationError(self._sorted())

    def reporter(self, locate: Callable[..., Location], *above: str | int, code: str = "") -> Report:
        """What reports an error at a key below `above`; `locate` finds its place."""

        def report(message: str, *keys: str | int) -> None:
            self.error(locate(*above, *keys), message, code)

        return report

    def warning(self, place: Location, message: str) -> None:
        self._problems[replace(_problem(place, message), severity="warning")] = None

    def __len__(self) -> int:
        return len(self._problems)

    @property
    def sound(self) -> bool:
        return not any(problem.severity == "error" for problem in self._problems)

    def settle(self) -> tuple[Problem, ...]:
        """The warnings, if there is nothing worse. Raises `DeclarationError` with everything otherwise."""
        if not self.sound:
            raise DeclarationError(self._sorted())
        return self._sorted()

    def _sorted(self) -> tuple[Problem, ...]:
        return tuple(sorted(self._problems, key=lambda problem: (problem.file, problem.line, problem.column)))


def _problem(place: Location, message: str) -> Problem:
    """Safe to be shown: what an author wrote may hold anything."""
    text = message if len(message) <= LONGEST else f"{message[: LONGEST // 2]} … {message[-LONGEST // 2 :]}"
    return Problem(
        file=_printable(place.file), line=place.line, column=place.column, message=_printable(text)
    )


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


RUNTIME_ONLY = frozenset("traceLLM traceMCP verbose accounting save load stream targets".split())
"""Keys of older agent files that say how to run, not what an agent is."""

_OTHER_NAMES = {
    **dict.fromkeys(("next", "delegate"), "`handoff`"),
    **dict.fromkeys(
        ("routerDestinations", "dispatch", "triage", "destinations"), "`router: {destinations: […]}`"
    ),
    **dict.fromkeys(("consult", "gather"), "`advisors`"),
    **dict.fromkeys(("panel", "council"), "`team`"),
    **dict.fromkeys(("model",), "`models`"),
}
_LONGEST_WORD = 64


def unknown_key(key: str, inside: str, known: Collection[str]) -> str:
    """Why there is no such key, and which one there is."""
    if key in RUNTIME_ONLY and not inside:
        return (
            f"the key {key!r} says how to run, not what an agent is: use CLI flags, see `folkmoot run --help`"
        )
    where = f" in `{inside}`" if inside else ""
    if key in _OTHER_NAMES and not inside:
        return f"unknown key {key!r}{where}; write {_OTHER_NAMES[key]}"
    return f"unknown key {key!r}{where}{near(key, known) or '; it may have ' + ', '.join(sorted(known))}"


def near(word: str, words: Collection[str]) -> str:
    """`; did you mean 'x'?` for the likeliest of `words`, or nothing."""
    if len(word) > _LONGEST_WORD:
        return ""
    by_shape = {_shape(known): known for known in words}
    close = get_close_matches(_shape(word), by_shape, n=1, cutoff=0.7)
    return f"; did you mean {by_shape[close[0]]!r}?" if close else ""


def short(value: object) -> str:
    """A value as it may stand in a message: quoted, escaped, not endless."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:76]}…{text[-1]}"


def _shape(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")
