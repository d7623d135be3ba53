"""A script from a YAML file, with the place of everything in it.

Scalars are read as YAML 1.2 has them: only `true` and `false` are booleans, and there are no dates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import yaml

from folkmoot.errors import DeclarationError, Problem
from folkmoot.models.script import ModelScript, Path, read_script

LARGEST = 5 * 1024 * 1024
DEEPEST = 32
MOST_VALUES = 100_000
"""Counted as often as aliases repeat them."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN_TAGS = (None, "!", *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq")))
_INTEGER = re.compile(r"[-+]?\d{1,18}")
_DECIMAL = re.compile(r"[-+]?(?:\d+\.\d*|\.?\d+)(?:[eE][-+]?\d{1,3})?")
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


def read_script_file(file: File, shown: str) -> ModelScript:
    """`shown` is the file's name in messages. Raises `DeclarationError` with everything that is wrong."""
    try:
        if file.stat().st_size > LARGEST:
            raise _wrong(shown, f"larger than {LARGEST // 1024 // 1024} MB")
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise _wrong(shown, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _wrong(shown, "is not UTF-8 text") from None
    tree = _Tree(text, shown)
    try:
        data = tree.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _wrong(shown, f"not YAML: {error.problem or error.context}", mark) from None
    except yaml.YAMLError as error:
        raise _wrong(shown, f"not YAML: {str(error).splitlines()[0]}") from None
    return read_script({} if data is None else data, file=shown, places=tree.places)


class _Tree:
    """Builds plain data from the events of the parser, within limits that hold before anything is built."""

    def __init__(self, text: str, shown: str) -> None:
        self.places: dict[Path, tuple[int, int]] = {}
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=_LOADER))
        self._shown = shown
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._values = 0

    def document(self) -> Any:
        data = None
        for event in self._events:
            if isinstance(event, yaml.NodeEvent):
                if data is not None:
                    raise _wrong(self._shown, "only one document may stand in a script", event.start_mark)
                data = self._value(event, (), 1)
        return data

    def _value(self, event: Any, path: Path, depth: int) -> Any:
        self.places.setdefault(path, (event.start_mark.line + 1, event.start_mark.column + 1))
        if depth > DEEPEST:
            raise _wrong(self._shown, f"nested more than {DEEPEST} levels deep", event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            return self._repeated(event)
        self._check_tag(event)
        before = self._values
        self._count(1, event)
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(path, depth)
        else:
            value = self._mapping(path, depth)
        if event.anchor:
            self._anchors[event.anchor] = (value, self._values - before)
        return value

    def _repeated(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            raise _wrong(self._shown, f"alias *{event.anchor} stands for nothing", event.start_mark)
        value, size = self._anchors[event.anchor]
        self._count(size, event)
        return value

    def _count(self, values: int, event: Any) -> None:
        self._values += values
        if self._values > MOST_VALUES:
            raise _wrong(self._shown, f"holds more than {MOST_VALUES:,} values", event.start_mark)

    def _sequence(self, path: Path, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._value(event, (*path, len(items) + 1), depth + 1))
        return items

    def _mapping(self, path: Path, depth: int) -> dict[Any, Any]:
        items: dict[Any, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            mark = event.start_mark
            if not isinstance(event, yaml.ScalarEvent):
                raise _wrong(self._shown, "a key must be plain text", mark)
            key = self._scalar(event)
            if key in items:
                raise _wrong(self._shown, f"key {key!r} stands here twice", mark)
            place = (*path, str(key))
            self.places[place] = (mark.line + 1, mark.column + 1)
            items[key] = self._value(next(self._events), place, depth + 1)
        return items

    def _check_tag(self, event: Any) -> None:
        if event.tag not in _PLAIN_TAGS:
            raise _wrong(self._shown, f"tag {event.tag!r} is not allowed here", event.start_mark)

    def _scalar(self, event: Any) -> Any:
        value: str = event.value
        self._check_tag(event)
        if event.style or event.tag:
            return value
        if value in _WORDS:
            return _WORDS[value]
        if _INTEGER.fullmatch(value):
            return int(value)
        return float(value) if _DECIMAL.fullmatch(value) else value


def _wrong(shown: str, message: str, mark: Any = None) -> DeclarationError:
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return DeclarationError([Problem(file=shown, line=line, column=column, message=message)])
