"""From YAML text to nodes. Strict on purpose: a declaration needs no anchors, own tags or second document.

Only this file reads YAML. It works on the parser's events, so that a bomb is refused while it unfolds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import NoneType
from typing import Any

import yaml

from folkmoot.loader.findings import Findings, Location, short
from folkmoot.loader.nodes import ListNode, MapNode, Node, Plain, Scalar, meaning

DEEPEST, MOST = 50, 10_000
"""Levels and values of one document."""

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


def compose(text: str, start: Location, findings: Findings, *, fixed: bool = False) -> Node | None:
    """The document in `text`, which begins at `start`; None after saying what is wrong with it.

    `fixed`: every position is `start`, for YAML inside of a YAML string.
    """
    reading = _DocumentReader(text, start, fixed, findings)
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

    def __init__(self, text: str, start: Location, fixed: bool, findings: Findings) -> None:
        self._text, self._start, self._fixed, self._findings = text, start, fixed, findings

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
        started: list[Any] = []
        for count, event in enumerate(yaml.parse(self._text, Loader=_PARSER)):
            match event:
                case yaml.NodeEvent():
                    self._check(event, len(started), count)
                    if isinstance(event, yaml.ScalarEvent):
                        children[-1].append(self._scalar(event))
                    else:
                        started.append(event)
                        children.append([])
                case yaml.CollectionEndEvent():
                    node = self._collection(started.pop(), children.pop())
                    children[-1].append(node)
                case yaml.DocumentEndEvent():
                    self._check_rest(event.end_mark)
                    break
        return root[0] if root else Scalar(self._start, "", None)

    def _check(self, event: Any, depth: int, count: int) -> None:
        place = self.place(event.start_mark)
        if event.anchor:
            message = f"anchors and aliases ({short(event.anchor)}) are not allowed; write the value out"
            raise _Refused(place, message)
        if depth >= DEEPEST:
            raise _Refused(place, f"more than {DEEPEST} levels; nothing needs to be nested so deeply")
        if count > MOST:
            raise _Refused(place, f"more than {MOST:,} values; split the file")

    def _check_rest(self, mark: Any) -> None:
        rest = self._text[mark.index :]
        if any(line.strip() and line.lstrip()[0] != "#" for line in rest.split("\n")):
            raise _Refused(self.place(mark), "a second YAML document begins here; keep one")

    def _scalar(self, event: Any) -> Scalar:
        place = self.place(event.start_mark)
        if bad := _UNSTORABLE.search(event.value):
            message = f"the text holds the character {bad[0]!r}, which cannot be stored; take it out"
            raise _Refused(place, message)
        try:
            return Scalar(place, event.value, _value(event))
        except ValueError as error:
            raise _Refused(place, str(error)) from None

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
                message = (
                    f"the key {short(key.text)} stands here twice, first in line {before.line}; keep one"
                )
                self._findings.error(key.place, message)
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
