"""Check single values against their definitions, and say in words what a definition wants."""

from __future__ import annotations

import operator
import re
from typing import Any, cast

from msgspec import inspect

from folkmoot.domain.duration import EXAMPLES, seconds
from folkmoot.loader.findings import Findings
from folkmoot.loader.hints import near, short
from folkmoot.loader.nodes import ListNode, MapNode, Node, Scalar

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
