"""Regular expressions that take bounded time, whatever the text: all ways through the pattern are followed at once.

The syntax is that of Python, and so is the answer, without what cannot be decided so: references to groups, looking
ahead or behind, atomic groups and possessive repetitions. A text that is too long for the pattern is not decided. Pure:
the same pattern and text give the same answer on every machine, because steps are counted, not seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

STEPS = 200_000
"""Of one decision: a fraction of a second."""
_LARGEST = 5_000
"""Places of a pattern, when its repetitions are written out."""

_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
_REFUSED = {
    "GROUPREF": "refers back to a group",
    "GROUPREF_EXISTS": "refers back to a group",
    "GROUPREF_IGNORE": "refers back to a group",
    "ASSERT": "looks ahead or behind",
    "ASSERT_NOT": "looks ahead or behind",
    "ATOMIC_GROUP": "has an atomic group",
    "POSSESSIVE_REPEAT": "repeats possessively",
}


class Unbounded(Exception):
    """The pattern cannot be decided in bounded time; says why."""


class _Place(NamedTuple):
    """Of a pattern: where one gets to with a character that fits, or where the text is as `holds` wants it."""

    fits: Callable[[str], object] | None
    holds: Callable[[str, int], bool] | None
    next: tuple[int, ...]


def fullmatch(pattern: str, text: str) -> bool | None:
    """Whether the whole text fits; None if that cannot be decided."""
    return _match(pattern, text, whole=True)


def search(pattern: str, text: str) -> bool | None:
    """Whether some part of the text fits; None if that cannot be decided."""
    return _match(pattern, text, whole=False)


def fault(pattern: str) -> str:
    """Why a pattern cannot be used; empty if it can."""
    try:
        _compiled(pattern)
    except Unbounded as error:
        return str(error)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression: {error}"
    return ""


def _match(pattern: str, text: str, *, whole: bool) -> bool | None:
    try:
        places, first = _compiled(pattern)
    except (Unbounded, re.error, OverflowError, RecursionError):
        return None
    left = STEPS
    standing: set[int] = set()
    for at in range(len(text) + 1):
        if not at or not whole:
            standing.add(first)
        reached = _spread(places, standing, text, at)
        if _END in reached and (not whole or at == len(text)):
            return True
        left -= len(reached) + 1
        if at == len(text) or (whole and not reached):
            return False
        if left < 0:
            return None
        standing = {
            next
            for number in reached
            if number != _END and (fits := places[number].fits) and fits(text[at])
            for next in places[number].next
        }
    return False


def _spread(places: list[_Place], standing: set[int], text: str, at: int) -> set[int]:
    """With all places that are reached without a character."""
    reached, waiting = set(standing), [*standing]
    while waiting:
        number = waiting.pop()
        if number == _END:
            continue
        place = places[number]
        if place.fits is None and (place.holds is None or place.holds(text, at)):
            new = [next for next in place.next if next not in reached]
            reached.update(new)
            waiting += new
    return reached


_END = -1


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[list[_Place], int]:
    re.compile(pattern)  # says what is wrong better than the parser alone
    parsed = parser.parse(pattern)
    making = _Making()
    first = making.sequence(parsed, _END, parsed.state.flags)
    return making.places, first


class _Making:
    """From the end to the beginning: each part is given where it leads to, and gives where it begins."""

    def __init__(self) -> None:
        self.places: list[_Place] = []

    def sequence(self, parts: Any, then: int, flags: int) -> int:
        for kind, value in reversed(list(parts)):
            then = self._part(kind, value, then, flags)
        return then

    def _add(self, place: _Place) -> int:
        if len(self.places) >= _LARGEST:
            raise Unbounded(f"has more than {_LARGEST:,} places when its repetitions are written out")
        self.places.append(place)
        return len(self.places) - 1

    def _part(self, kind: Any, value: Any, then: int, flags: int) -> int:
        if why := _REFUSED.get(str(kind)):
            raise Unbounded(f"{why}, which cannot be decided in bounded time")
        if kind is op.BRANCH:
            ways = tuple(self.sequence(way, then, flags) for way in value[1])
            return self._add(_Place(None, None, ways))
        if kind is op.SUBPATTERN:
            _, add, remove, parts = value
            return self.sequence(parts, then, (flags | add) & ~remove)
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, parts = value
            return self._repeat((least, most), parts, then, flags)
        if kind is op.AT:
            return self._add(_Place(None, _holds(value, flags), (then,)))
        fits = re.compile(_written(kind, value), flags & _OF_CHARACTERS).fullmatch
        return self._add(_Place(lru_cache(maxsize=512)(fits), None, (then,)))

    def _repeat(self, times: tuple[int, int], parts: Any, then: int, flags: int) -> int:
        least, most = times
        if most is op.MAXREPEAT:
            loop = self._add(_Place(None, None, ()))
            self.places[loop] = _Place(None, None, (self.sequence(parts, loop, flags), then))
            then = loop
        else:
            end = then
            for _ in range(most - least):
                then = self._add(_Place(None, None, (self.sequence(parts, then, flags), end)))
        for _ in range(least):
            then = self.sequence(parts, then, flags)
        return then


_OF_CHARACTERS = re.IGNORECASE | re.DOTALL | re.ASCII


def _written(kind: Any, value: Any) -> str:
    """What fits one character, as Python writes it: so it fits what it fits there."""
    if kind is op.LITERAL:
        return re.escape(chr(value))
    if kind is op.NOT_LITERAL:
        return f"[^{re.escape(chr(value))}]"
    if kind is op.ANY:
        return "."
    if kind is op.IN:
        return f"[{''.join(_member(*each) for each in value)}]"
    raise Unbounded(f"uses {kind}, which is not known here")


def _member(kind: Any, value: Any) -> str:
    if kind is op.NEGATE:
        return "^"
    if kind is op.LITERAL:
        return re.escape(chr(value))
    if kind is op.RANGE:
        return "-".join(re.escape(chr(end)) for end in value)
    return _CATEGORIES[value]


def _holds(where: Any, flags: int) -> Callable[[str, int], bool]:
    """Asked with the text and a position of it."""
    written = {
        op.AT_BEGINNING: "^",
        op.AT_BEGINNING_STRING: r"\A",
        op.AT_END: "$",
        op.AT_END_STRING: r"\Z",
        op.AT_BOUNDARY: r"\b",
        op.AT_NON_BOUNDARY: r"\B",
    }[where]
    matches = re.compile(written, flags & (re.MULTILINE | re.ASCII)).match
    return lambda text, at: matches(text, at) is not None if at else matches(text) is not None
