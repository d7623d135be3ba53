"""A YAML document as nodes that know where they stand.

Strict on purpose: a declaration needs no own tags or second document, and anchors only in scripts. Only this file reads
YAML. It works on the parser's events, so that a bomb is refused while it unfolds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

import yaml

from folkmoot.domain.text import storable
from folkmoot.loader.findings import Findings, Location, short

DEEPEST, MOST = 50, 10_000
"""Levels and values of one document."""
Plain = str | int | float | bool | None


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


_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_CORE = "tag:yaml.org,2002:"
_TAGGED: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "null": (NoneType,),
}


def compose(
    text: str, start: Location, findings: Findings, *, fixed: bool = False, aliased: int = 0
) -> Node | None:
    """The document in `text`, which begins at `start`; None after saying what is wrong with it.

    `fixed`: every position is `start`, for YAML inside of a YAML string. `aliased`: it holds what models say: aliases
    may be used, in at most so many values, and characters that cannot be stored are replaced, as those of a model are.
    """
    reading = _DocumentReader(text, start, fixed, aliased, findings)
    try:
        return reading.document()
    except _Refused as refusal:
        findings.error(*refusal.args)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        tab = mark is not None and text[mark.index : mark.index + 1] == "\t"
        remedy = "indent with spaces, not with tabs" if tab else "look at this line and the one before it"
        problem = getattr(error, "problem", None) or type(error).__name__
        findings.error(reading.place(mark), f"this is not YAML: {problem}; {remedy}", "not_yaml")
    return None


class _Refused(Exception):
    """What no declaration needs; carries the place and the message."""


class _DocumentReader:
    """One pass over the events of one document."""

    def __init__(self, text: str, start: Location, fixed: bool, aliased: int, findings: Findings) -> None:
        self._text, self._start, self._fixed, self._findings = text, start, fixed, findings
        self._most = aliased or MOST
        self._count = 0
        self._anchors: dict[str, tuple[Node, int]] | None = {} if aliased else None
        """Nodes that may be repeated, with the number of values in each."""

    def document(self) -> Node:
        if bad := _UNREADABLE.search(self._text):
            before = self._text[: bad.start()]
            place = self._moved(before.count("\n"), len(before) - before.rfind("\n") - 1)
            raise _Refused(place, f"the character {bad[0]!r} may not stand here; take it out")
        content = next((line for line in self._text.split("\n") if line.strip() and line[0] != "#"), "")
        if content.startswith("%"):
            message = f"YAML directives such as {short(content)} are not allowed; take them out"
            raise _Refused(self._start, message)
        return self._fold()

    def place(self, mark: Any) -> Location:
        return self._moved(mark.line, mark.column) if mark else self._start

    def _moved(self, lines: int, columns: int) -> Location:
        if self._fixed:
            return self._start
        return Location(self._start.file, self._start.line + lines, columns + 1)

    def _fold(self) -> Node:
        """Iterative: however deep a document is, it cannot exhaust our stack."""
        root: list[Node] = []
        children = [root]
        started: list[tuple[Any, int]] = []
        for event in yaml.parse(self._text, Loader=_PARSER):
            match event:
                case yaml.AliasEvent() | yaml.ScalarEvent():
                    self._check(event, len(started))
                    node = self._alias(event) if isinstance(event, yaml.AliasEvent) else self._scalar(event)
                    children[-1].append(node)
                case yaml.CollectionStartEvent():
                    self._check(event, len(started))
                    started.append((event, self._count))
                    children.append([])
                case yaml.CollectionEndEvent():
                    start, before = started.pop()
                    node = self._collection(start, children.pop())
                    self._remember(start, node, self._count - before + 1)
                    children[-1].append(node)
                case yaml.DocumentEndEvent():
                    self._check_rest(event.end_mark)
                    break
        return root[0] if root else Scalar(self._start, "", None)

    def _check(self, event: Any, depth: int) -> None:
        place = self.place(event.start_mark)
        if event.anchor and self._anchors is None:
            message = f"anchors and aliases ({short(event.anchor)}) are not allowed; write the value out"
            raise _Refused(place, message)
        if depth >= DEEPEST:
            raise _Refused(place, f"more than {DEEPEST} levels; nothing needs to be nested so deeply")
        self._add_values(1, place)

    def _add_values(self, count: int, place: Location) -> None:
        self._count += count
        if self._count > self._most:
            raise _Refused(place, f"more than {self._most:,} values; split the file")

    def _check_rest(self, mark: Any) -> None:
        rest = self._text[mark.index :]
        if any(line.strip() and line.lstrip()[0] != "#" for line in rest.split("\n")):
            raise _Refused(self.place(mark), "a second YAML document begins here; keep one")

    def _alias(self, event: Any) -> Node:
        place = self.place(event.start_mark)
        if event.anchor not in (self._anchors or {}):
            raise _Refused(place, f"the alias {short(event.anchor)} stands for nothing")
        assert self._anchors is not None
        node, values = self._anchors[event.anchor]
        self._add_values(values, place)
        return node

    def _remember(self, event: Any, node: Node, values: int) -> None:
        if event.anchor and self._anchors is not None:
            self._anchors[event.anchor] = node, values

    def _scalar(self, event: Any) -> Scalar:
        place = self.place(event.start_mark)
        if self._anchors is not None:  # what a model says may hold anything
            event.value = storable(event.value)
        elif bad := _UNSTORABLE.search(event.value):
            message = f"the text holds the character {bad[0]!r}, which cannot be stored; take it out"
            raise _Refused(place, message)
        try:
            node = Scalar(place, event.value, _value(event))
        except ValueError as error:
            raise _Refused(place, str(error)) from None
        self._remember(event, node, 1)
        return node

    def _collection(self, event: Any, children: list[Node]) -> Node:
        place, listing = self.place(event.start_mark), isinstance(event, yaml.SequenceStartEvent)
        if event.tag not in (None, "!", f"{_CORE}{'seq' if listing else 'map'}"):
            raise _Refused(place, _bad_tag(event.tag))
        return ListNode(place, tuple(children)) if listing else MapNode(place, tuple(self._entries(children)))

    def _entries(self, children: list[Node]) -> Iterator[tuple[Scalar, Node]]:
        seen: dict[str, Location] = {}
        for key, value in zip(children[::2], children[1::2], strict=True):
            if not isinstance(key, Scalar):
                raise _Refused(key.place, "a key must be a word, not a list or a mapping")
            if before := seen.get(key.text):
                twice = f"the key {short(key.text)} stands here twice, first in line {before.line}; keep one"
                self._findings.error(key.place, twice)
            seen[key.text] = key.place
            yield key, value


def _value(event: Any) -> Plain:
    text: str = event.value
    if event.tag is None:
        return text if event.style else meaning(text)
    if event.tag in ("!", f"{_CORE}str"):
        return text
    value = meaning(text)
    if type(value) not in _TAGGED.get(event.tag.removeprefix(_CORE), ()):
        raise ValueError(_bad_tag(event.tag))
    return value


def _bad_tag(tag: str) -> str:
    return f"the YAML tag {short(tag.replace(_CORE, '!!'))} is not allowed here; write the plain value"
