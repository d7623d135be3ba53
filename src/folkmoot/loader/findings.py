"""What is wrong in a project, collected while it is read, so that its author learns everything at once."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from folkmoot.errors import DeclarationError, Problem

ENOUGH = 500
"""Whoever has so many problems mends some before asking for more."""
LONGEST = 4_000
"""Characters of one message."""


class Place(NamedTuple):
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

    def error(self, place: Place, message: str, code: str = "") -> None:
        """What several agents run into, such as a wrong default, is kept once."""
        self._problems[replace(_problem(place, message), code=code or self._code)] = None
        if len(self._problems) >= ENOUGH:
            raise DeclarationError(self._sorted())

    def warning(self, place: Place, message: str) -> None:
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


def _problem(place: Place, message: str) -> Problem:
    """Safe to be shown: what an author wrote may hold anything."""
    text = message if len(message) <= LONGEST else f"{message[: LONGEST // 2]} … {message[-LONGEST // 2 :]}"
    return Problem(
        file=_printable(place.file), line=place.line, column=place.column, message=_printable(text)
    )


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
