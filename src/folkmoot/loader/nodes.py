"""YAML values that know where they stand."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypeAlias

from folkmoot.loader.findings import Location

Plain = str | int | float | bool | None

_WORDS: dict[str, Plain] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+", re.ASCII)
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_GREATEST = 2**63 - 1
_LONGEST_NUMBER = 40


def meaning(text: str) -> Plain:
    """The value of an unquoted scalar. Raises ValueError for a number that nobody can mean."""
    if text in _WORDS:
        return _WORDS[text]
    if not (whole := _WHOLE.fullmatch(text)) and not _DECIMAL.fullmatch(text):
        return text
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(text)} characters is too long; put it in quotes if it is text")
    number = int(text, 0 if text[:2] in ("0x", "0o") else 10) if whole else float(text)
    if abs(number) > _GREATEST:
        raise ValueError(f"the number {text} is too large; put it in quotes if it is text")
    return number


class Scalar(NamedTuple):
    place: Location
    text: str
    value: Plain


class ListNode(NamedTuple):
    place: Location
    items: tuple[Node, ...]


class MapNode(NamedTuple):
    place: Location
    entries: tuple[tuple[Scalar, Node], ...]


Node: TypeAlias = Scalar | ListNode | MapNode
Path: TypeAlias = tuple[str | int, ...]


def find(node: Node, path: Path) -> Node | None:
    """The node under `path`; None when there is no such one."""
    for step in path:
        match node:
            case MapNode(entries=entries) if values := [value for key, value in entries if key.text == step]:
                node = values[0]
            case ListNode(items=items) if isinstance(step, int) and step < len(items):
                node = items[step]
            case _:
                return None
    return node


def place_of(node: Node, path: Path) -> Location:
    """Where `path` stands, or the nearest thing around it."""
    while path and find(node, path) is None:
        path = path[:-1]
    return (find(node, path) or node).place


def keys(node: Node, path: Path) -> list[str]:
    """The keys of the mapping under `path`, also those whose values are wrong."""
    under = find(node, path)
    return [key.text for key, _ in under.entries] if isinstance(under, MapNode) else []


def data(node: Node) -> Any:
    """The node as plain JSON values."""
    match node:
        case MapNode(entries=entries):
            return {key.text: data(value) for key, value in entries}
        case ListNode(items=items):
            return [data(item) for item in items]
        case Scalar(value=value):
            return value
