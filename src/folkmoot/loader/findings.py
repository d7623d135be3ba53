"""What is wrong in a project, collected while it is read, so that its author learns everything at once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Any, NamedTuple

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
    """The one list that every check of a load adds to, so that an author learns everything at once."""

    def __init__(self, code: str = "bad_declaration") -> None:
        """`code` is that of all problems that have none of their own."""
        self._code = code
        self._problems: dict[Problem, None] = {}

    def error(self, place: Location, message: str, code: str = "") -> None:
        """What several agents run into, such as a wrong default, is kept once."""
        self._add(place, message, code=code or self._code)
        if len(self._problems) >= ENOUGH:
            raise DeclarationError(self._sorted())

    def warning(self, place: Location, message: str) -> None:
        self._add(place, message, severity="warning")

    def reporter(self, locate: Callable[..., Location], *above: str | int, code: str = "") -> Report:
        """What reports an error at a key below `above`; `locate` finds its place."""

        def report(message: str, *keys: str | int) -> None:
            self.error(locate(*above, *keys), message, code)

        return report

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

    def _add(self, place: Location, message: str, **more: Any) -> None:
        if len(message) > LONGEST:
            message = f"{message[: LONGEST // 2]} … {message[-LONGEST // 2 :]}"
        file, line, column = place
        problem = Problem(
            file=_printable(file), line=line, column=column, message=_printable(message), **more
        )
        self._problems[problem] = None

    def _sorted(self) -> tuple[Problem, ...]:
        return tuple(sorted(self._problems, key=lambda problem: (problem.file, problem.line, problem.column)))


def _printable(text: str) -> str:
    """Safe to be shown: what an author wrote may hold anything."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def short(value: object) -> str:
    """A value as it may stand in a message: quoted, escaped, not endless."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:76]}…{text[-1]}"


_LONGEST_WORD = 64


def near(word: str, words: Collection[str]) -> str:
    """`; did you mean 'x'?` for the likeliest of `words`, or nothing."""
    if len(word) > _LONGEST_WORD:
        return ""
    by_shape = {_shape(known): known for known in words}
    close = get_close_matches(_shape(word), by_shape, n=1, cutoff=0.7)
    return f"; did you mean {by_shape[close[0]]!r}?" if close else ""


def _shape(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")
