"""Check YAML nodes against a struct definition of `domain`, and report everything that does not fit.

msgspec itself stops at the first fault and knows no positions; what a key may hold is still said once, in the
struct. A field's `Meta(extra=…)` names special spellings: `written` is `duration`, `names`, `schema` or `one or more`;
`short` names the key of a struct that may be given alone, without the mapping around it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from folkmoot.domain.duration import EXAMPLES, seconds
from folkmoot.loader.compose import compose
from folkmoot.loader.findings import Findings, Location, near, short, unknown_key
from folkmoot.loader.nodes import ListNode, MapNode, Node, Scalar, data

WRONG: Any = object()
"""Instead of a value, after its fault was reported."""

_DURATION = f"a duration such as {EXAMPLES}"
_BOUNDS = {
    "gt": (operator.gt, "greater than"),
    "ge": (operator.ge, "at least"),
    "lt": (operator.lt, "less than"),
    "le": (operator.le, "at most"),
}
_TYPES: dict[type[inspect.Type], tuple[str, tuple[type, ...]]] = {
    inspect.StrType: ("a string", (str,)),
    inspect.IntType: ("a whole number", (int,)),
    inspect.FloatType: ("a number", (int, float)),
    inspect.BoolType: ("true or false", (bool,)),
}


def plain(node: Node, wanted: inspect.Type, key: str, findings: Findings) -> Any:
    what, types = _TYPES[type(wanted)]
    if not isinstance(node, Scalar) or type(node.value) not in types:
        hint = "; put it in quotes" if types == (str,) and isinstance(node, Scalar) and node.text else ""
        what = what.replace("a ", "one ") if isinstance(node, ListNode) else what
        return wrong(node, key, what, findings, hint)
    for bound, (holds, words) in _BOUNDS.items():
        limit = getattr(wanted, bound, None)
        if limit is not None and not holds(cast(float, node.value), limit):
            return wrong(node, key, f"{words} {limit}", findings)
    pattern = getattr(wanted, "pattern", None)
    if pattern and not re.fullmatch(pattern, node.text):
        return wrong(node, key, f"of the form {pattern}", findings)
    return float(cast(float, node.value)) if isinstance(wanted, inspect.FloatType) else node.value


def word(node: Node, wanted: inspect.LiteralType, key: str, findings: Findings) -> Any:
    if isinstance(node, Scalar) and node.value in wanted.values:
        return node.value
    hint = near(node.text, [str(value) for value in wanted.values]) if isinstance(node, Scalar) else ""
    return wrong(node, key, called(wanted), findings, hint)


def time_span(node: Node, key: str, findings: Findings) -> Any:
    span = seconds(node.value) if isinstance(node, Scalar) else None
    return wrong(node, key, _DURATION, findings) if span is None else span


def wrong(node: Node, key: str, wanted: str, findings: Findings, hint: str = "") -> Any:
    match node:
        case MapNode():
            found = "a mapping"
        case ListNode():
            found = "a list"
        case Scalar(value=value, text=text):
            found = "empty" if value is None else text if isinstance(value, bool) else short(value)
    findings.error(node.place, f"{f'`{key}`' if key else 'this'} must be {wanted}, not {found}{hint}")
    return WRONG


def called(wanted: inspect.Type) -> str:
    match wanted:
        case inspect.Metadata(type=inner, extra=extra):
            return _DURATION if (extra or {}).get("written") == "duration" else called(inner)
        case inspect.LiteralType(values=values):
            return ("one of " if len(values) > 1 else "") + ", ".join(map(repr, values))
        case inspect.VarTupleType():
            return "a list"
        case _:
            return _TYPES[type(wanted)][0] if type(wanted) in _TYPES else "a mapping"


S = TypeVar("S", bound=msgspec.Struct)
_Walker = Callable[[Node, Any, str, Findings], Any]


def declared(node: Node, struct: type[S], findings: Findings) -> S:
    """The struct that a whole document spells; what is wrong in it is reported and left at its default."""
    if isinstance(node, Scalar) and node.value is None:
        return struct()
    value = walk(node, definition(struct), "", findings)
    return struct() if value is WRONG else cast(S, value)


@cache
def definition(struct: type[msgspec.Struct]) -> inspect.StructType:
    return cast(inspect.StructType, inspect.type_info(struct))


def walk(node: Node, wanted: inspect.Type, key: str, findings: Findings) -> Any:
    """The value that `node` spells, or WRONG after saying what is wrong with it."""
    walker: _Walker = _WALKERS.get(type(wanted), plain)
    return walker(node, wanted, key, findings)


def _special(node: Node, wanted: inspect.Metadata, key: str, findings: Findings) -> Any:
    extra = wanted.extra or {}
    written = extra.get("written")
    if written == "duration":
        return time_span(node, key, findings)
    if written == "one or more" and not isinstance(node, ListNode):
        node = ListNode(node.place, (node,))
    if isinstance(node, Scalar) and "short" in extra:
        node = MapNode(node.place, ((Scalar(node.place, extra["short"], extra["short"]), node),))
    if isinstance(node, Scalar) and isinstance(node.value, str):
        if written == "schema":
            return _schema_text(node.value, node.place, key, findings)
        if written == "names":
            names = (name.strip() for name in node.value.split(","))
            node = ListNode(node.place, tuple(Scalar(node.place, name, name) for name in names if name))
    return walk(node, wanted.type, key, findings)


def _schema_text(text: str, place: Location, key: str, findings: Findings) -> Any:
    node = compose(text, place, findings, fixed=True)
    if node is None:
        return WRONG
    return (
        data(node) if isinstance(node, MapNode) else wrong(node, key, "a JSON Schema (a mapping)", findings)
    )


def _either(node: Node, wanted: inspect.UnionType, key: str, findings: Findings) -> Any:
    types = [each for each in wanted.types if not isinstance(each, inspect.NoneType)]
    if isinstance(node, Scalar) and node.value is None and len(types) < len(wanted.types):
        return None
    for each in types:
        if len(types) == 1 or (isinstance(each, inspect.StructType) and isinstance(node, MapNode)):
            return walk(node, each, key, findings)
        if isinstance(each, inspect.LiteralType) and isinstance(node, Scalar) and node.value in each.values:
            return node.value
    return wrong(node, key, " or ".join(map(called, types)), findings)


def _struct(node: Node, wanted: inspect.StructType, key: str, findings: Findings) -> Any:
    if not isinstance(node, MapNode):
        return wrong(node, key, called(wanted), findings)
    fields = {field.encode_name: field for field in wanted.fields}
    values: dict[str, Any] = {}
    unknown = False
    for name, value in node.entries:
        if field := fields.get(name.text):
            values[field.name] = walk(value, field.type, f"{key}.{name.text}".lstrip("."), findings)
        else:
            unknown = True
            findings.error(name.place, unknown_key(name.text, key, fields))
    for field in wanted.fields:
        if field.required and field.name not in values and not unknown:
            whole = f"`{key}`" if key else "this"
            findings.error(node.place, f"{whole} needs the key {field.encode_name!r}: {called(field.type)}")
    sound = {name: value for name, value in values.items() if value is not WRONG}
    return WRONG if any(f.required and f.name not in sound for f in wanted.fields) else wanted.cls(**sound)


def _dict(node: Node, wanted: inspect.DictType, key: str, findings: Findings) -> Any:
    """Only what is wholly sound: a model whose price is misspelt would seem to have none."""
    if not isinstance(node, MapNode):
        return wrong(node, key, called(wanted), findings)
    values: dict[str, Any] = {}
    for name, value in node.entries:
        before = len(findings)
        walked = walk(value, wanted.value_type, f"{key}.{name.text}", findings)
        if len(findings) == before:
            values[name.text] = walked
    return values


def _list(node: Node, wanted: inspect.VarTupleType, key: str, findings: Findings) -> Any:
    if not isinstance(node, ListNode):
        return wrong(node, key, called(wanted), findings)
    if len(node.items) < (wanted.min_length or 0):
        message = f"`{key}` must list at least {wanted.min_length}; name one or take the key out"
        findings.error(node.place, message)
        return WRONG
    values = [walk(item, wanted.item_type, f"{key}[{n}]", findings) for n, item in enumerate(node.items)]
    return WRONG if WRONG in values else tuple(values)


def _anything(node: Node, wanted: inspect.Type, key: str, findings: Findings) -> Any:
    return data(node)


_WALKERS: dict[type[inspect.Type], _Walker] = {
    inspect.Metadata: _special,
    inspect.UnionType: _either,
    inspect.StructType: _struct,
    inspect.DictType: _dict,
    inspect.VarTupleType: _list,
    inspect.LiteralType: word,
    inspect.AnyType: _anything,
}
