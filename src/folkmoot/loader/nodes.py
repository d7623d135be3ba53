"""YAML values that know where they stand."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from folkmoot.loader.findings import Place
from folkmoot.loader.scalars import Plain


class Scalar(NamedTuple):
    place: Place
    text: str
    value: Plain


class ListNode(NamedTuple):
    place: Place
    items: tuple[Node, ...]


class MapNode(NamedTuple):
    place: Place
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


def place_of(node: Node, path: Path) -> Place:
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
