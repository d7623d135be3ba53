"""Check YAML nodes against a struct definition of `domain`, and report everything that does not fit.

msgspec itself stops at the first fault and knows no positions; what a key may hold is still said once, in the
struct. A field's `Meta(extra=…)` names special spellings: `written` is `duration`, `names`, `schema` or `one or more`;
`short` names the key of a struct that may be given alone, without the mapping around it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from folkmoot.loader.compose import compose
from folkmoot.loader.findings import Findings, Place
from folkmoot.loader.hints import unknown_key
from folkmoot.loader.nodes import ListNode, MapNode, Node, Scalar, data
from folkmoot.loader.plain import WRONG, called, plain, time_span, word, wrong

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


def _schema_text(text: str, place: Place, key: str, findings: Findings) -> Any:
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
        findings.error(
            node.place, f"`{key}` must list at least {wanted.min_length}; name one or take the key out"
        )
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
