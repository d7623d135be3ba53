"""Describes a struct in words: its keys as written outside, what each takes, and the line beneath it."""

import re
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct, UnsetType
from msgspec.structs import FieldInfo

from folkmoot.domain.duration import written
from folkmoot.loader.walk import field_lines

_PLAIN = {str: "text", int: "whole number", float: "number", bool: "`true` or `false`", Any: "anything"}
_WRITTEN = {"names": "names", "duration": "duration", "schema": "JSON Schema"}
_ONE_OR_MORE = "one or more"
_BOUNDS = {"gt": "above", "ge": "at least", "le": "at most", "lt": "below"}
_LINK = re.compile(r"\[\w+\]\(#\w+\)")


class Row(NamedTuple):
    key: str
    value: str
    """What may stand there, in words."""
    meaning: str
    default: str
    """As it would be written; empty where there is none worth a word."""


def own_rows(struct: type[Struct]) -> Iterator[Row]:
    """One row per field."""
    lines = field_lines(struct)
    for field in msgspec.structs.fields(struct):
        value = words(field.type)
        yield Row(field.encode_name, value, lines.get(field.name, ""), _default(field, value))


def all_rows(struct: type[Struct], prefix: str = "") -> Iterator[Row]:
    """One row per key that a user may write; a mapping is spelt out, as `router.destinations`."""
    for row, field in zip(own_rows(struct), msgspec.structs.fields(struct), strict=True):
        inner = next(inner_structs(field.type), None)
        if inner is None:
            yield row._replace(key=prefix + row.key)
            continue
        named = ".NAME" if get_origin(field.type) is dict else ""
        path = f"{prefix}{row.key}{named}"
        yield row._replace(key=path, value=_LINK.sub("mapping", row.value).removesuffix(" by name"))
        yield from all_rows(inner, f"{path}.")


def inner_structs(hint: Any) -> Iterator[type[Struct]]:
    """The structs that a type holds, at any depth."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        yield hint
    for part in get_args(hint):
        yield from inner_structs(part)


def words(hint: Any) -> str:
    """A type as an author would say it; whether a key may be left out is not a part of it."""
    if get_origin(hint) is Annotated:
        return _annotated(get_args(hint)[0], get_args(hint)[1:])
    if get_origin(hint):
        return _composed(get_origin(hint), get_args(hint))
    if isinstance(hint, type) and issubclass(hint, Struct):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return _PLAIN[hint]


def _composed(origin: Any, arguments: tuple[Any, ...]) -> str:
    if origin in (Union, UnionType):
        return " or ".join(words(part) for part in arguments if part not in (NoneType, UnsetType))
    if origin is Literal:
        return ", ".join(f"`{value}`" if value else "empty" for value in arguments)
    if origin is tuple:
        return f"list of {words(arguments[0])}"
    return "object" if arguments[1] is Any else f"{words(arguments[1])} by name"


def _annotated(plain: Any, metas: tuple[Any, ...]) -> str:
    extra = {key: value for meta in metas for key, value in (meta.extra or {}).items()}
    if extra.get("refers") == "agent":
        return "agent files" if get_origin(plain) is tuple else "agent file"
    if extra.get("written") in _WRITTEN:
        return _WRITTEN[extra["written"]]
    if extra.get("written") == _ONE_OR_MORE:
        return f"one or a {words(plain)}"
    bounds = [
        f"{word} {getattr(meta, name):g}"
        for meta in metas
        for name, word in _BOUNDS.items()
        if getattr(meta, name) is not None
    ]
    return ", ".join([words(plain), *bounds])


def _default(field: FieldInfo, value: str) -> str:
    """Only texts, numbers and flags: that a list is empty or a mapping absent goes without saying."""
    default = field.default
    if default is NODEFAULT or not isinstance(default, str | int | float) or default == "":
        return ""
    if value == "duration":
        return written(float(default))
    return str(default).lower() if isinstance(default, bool) else str(default)
