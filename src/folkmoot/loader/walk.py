"""Check YAML nodes against a struct definition of `domain`, and report everything that does not fit; or write the
definition out as a template.

msgspec itself stops at the first fault and knows no positions; what a key may hold is still said once, in the
struct. A field's `Meta(extra=…)` names special spellings: `written` is `duration`, `names`, `schema`, `variable`,
`address` or `one or more`; `short` names the key of a struct that may be given alone, without the mapping around it.
"""

from __future__ import annotations

import ast
import operator
import re
import textwrap
from collections.abc import Callable, Collection, Iterator
from functools import cache
from inspect import getsource
from itertools import pairwise
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import NODEFAULT, Struct, UnsetType, inspect

from folkmoot.domain.agent import Frontmatter, Tuning
from folkmoot.domain.duration import EXAMPLES, seconds, written
from folkmoot.domain.settings import Options
from folkmoot.loader.document import ListNode, MapNode, Node, Scalar, compose, data
from folkmoot.loader.findings import Findings, near, short

WRONG: Any = object()
"""Instead of a value, after its fault was reported."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
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
    if len(node.text) < (getattr(wanted, "min_length", None) or 0):
        return wrong(node, key, "text that is not empty", findings)
    pattern = getattr(wanted, "pattern", None)
    if pattern and not re.fullmatch(pattern, node.text):
        return wrong(node, key, f"of the form {pattern}", findings)
    return float(cast(float, node.value)) if isinstance(wanted, inspect.FloatType) else node.value


def word(node: Node, wanted: inspect.LiteralType, key: str, findings: Findings) -> Any:
    if isinstance(node, Scalar) and node.value in wanted.values:
        return node.value
    hint = near(node.text, [str(value) for value in wanted.values]) if isinstance(node, Scalar) else ""
    return wrong(node, key, called(wanted), findings, hint)


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
        case inspect.VarTupleType() | inspect.ListType():
            return "a list"
        case _:
            return _TYPES[type(wanted)][0] if type(wanted) in _TYPES else "a mapping"


S = TypeVar("S", bound=Struct)
_Walker = Callable[[Node, Any, str, Findings], Any]


def declared(node: Node, struct: type[S], findings: Findings) -> S:
    """The struct that a whole document spells; what is wrong in it is reported and left at its default."""
    if isinstance(node, Scalar) and node.value is None:
        return struct()
    value = walk(node, definition(struct), "", findings)
    return struct() if value is WRONG else cast(S, value)


@cache
def definition(struct: type[Struct]) -> inspect.StructType:
    return cast(inspect.StructType, inspect.type_info(struct))


def walk(node: Node, wanted: inspect.Type, key: str, findings: Findings) -> Any:
    """The value that `node` spells, or WRONG after saying what is wrong with it."""
    walker: _Walker = _WALKERS.get(type(wanted), plain)
    return walker(node, wanted, key, findings)


def _special(node: Node, wanted: inspect.Metadata, key: str, findings: Findings) -> Any:
    extra = wanted.extra or {}
    spelling = extra.get("written")
    if spelling == "duration":
        span = seconds(node.value) if isinstance(node, Scalar) else None
        return wrong(node, key, _DURATION, findings) if span is None else span
    if fault_of := _FAULTS.get(spelling):
        text = walk(node, wanted.type, key, findings)
        if text is WRONG or not (fault := fault_of(text)):
            return text
        findings.error(node.place, f"`{key}` {fault}")
        return WRONG
    if spelling == "one or more" and not isinstance(node, ListNode):
        node = ListNode(node.place, (node,))
    if isinstance(node, Scalar) and "short" in extra:
        node = MapNode(node.place, ((Scalar(node.place, extra["short"], extra["short"]), node),))
    if isinstance(node, Scalar) and isinstance(node.value, str):
        if spelling == "schema":
            return _schema_text(node, node.value, key, findings)
        if spelling == "names":
            names = (name.strip() for name in node.value.split(","))
            node = ListNode(node.place, tuple(Scalar(node.place, name, name) for name in names if name))
    return walk(node, wanted.type, key, findings)


def _fault_of_variable(text: str) -> str:
    if _VARIABLE.fullmatch(text):
        return ""
    return "must be the name of an environment variable; a value never stands in a file"


def fault_of_url(url: str) -> str:
    """What is wrong, without the address itself: it may hold a secret."""
    try:
        parts = urlsplit(url)
        if parts.password is not None:
            return "holds a password; keep it in the environment"
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return "must begin with http:// or https:// and name a host"
        _ = parts.port
    except ValueError as error:
        return f"is no address: {error}"
    return ""


_FAULTS: dict[str | None, Callable[[str], str]] = {"variable": _fault_of_variable, "address": fault_of_url}


def _schema_text(scalar: Scalar, text: str, key: str, findings: Findings) -> Any:
    node = compose(text, scalar.place, findings, fixed=True)
    if isinstance(node, MapNode):
        return data(node)
    return WRONG if node is None else wrong(node, key, "a JSON Schema (a mapping)", findings)


def _either(node: Node, wanted: inspect.UnionType, key: str, findings: Findings) -> Any:
    types = [each for each in wanted.types if not isinstance(each, inspect.NoneType)]
    if isinstance(node, Scalar) and node.value is None and len(types) < len(wanted.types):
        return None
    for each in types:
        if len(types) == 1 or _fits(node, each):
            return walk(node, each, key, findings)
    return wrong(node, key, " or ".join(map(called, types)), findings)


def _fits(node: Node, wanted: inspect.Type) -> bool:
    match node:
        case MapNode():
            return isinstance(wanted, inspect.StructType | inspect.DictType)
        case ListNode():
            return isinstance(wanted, inspect.VarTupleType | inspect.ListType)
        case Scalar(value=value) if isinstance(wanted, inspect.LiteralType):
            return value in wanted.values
        case Scalar(value=value):
            return type(value) in _TYPES.get(type(wanted), ("", ()))[1]


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
    inspect.ListType: _anything,
}


RUNTIME_ONLY = frozenset("traceLLM traceMCP verbose accounting save load stream targets".split())
"""Keys of older agent files that say how to run, not what an agent is."""
_ROUTER = "`router: {destinations: […]}`"
_OTHER_NAMES = {
    **dict.fromkeys(("next", "delegate"), "`handoff`"),
    **dict.fromkeys(("routerDestinations", "dispatch", "triage", "destinations"), _ROUTER),
    **dict.fromkeys(("consult", "gather"), "`advisors`"),
    **dict.fromkeys(("panel", "council"), "`team`"),
    "model": "`models`",
}


def unknown_key(key: str, inside: str, known: Collection[str]) -> str:
    """Why there is no such key, and which one there is."""
    if key in RUNTIME_ONLY and not inside:
        how = "use CLI flags, see `folkmoot run --help`"
        return f"the key {key!r} says how to run, not what an agent is: {how}"
    where = f" in `{inside}`" if inside else ""
    if key in _OTHER_NAMES and not inside:
        return f"unknown key {key!r}{where}; write {_OTHER_NAMES[key]}"
    return f"unknown key {key!r}{where}{near(key, known) or '; it may have ' + ', '.join(sorted(known))}"


_MEANING = 30


def template() -> str:
    """An agent file with every key there is. Loads as it is: each key is a comment, with its default and meaning."""
    keys = "\n".join(f"# {line}".rstrip() for line in _lines(definition(Frontmatter), ""))
    return f"---\n{keys}\n---\nThe prompt: who this agent is and what it shall do.\n"


def field_lines(struct: type[Struct]) -> dict[str, str]:
    """The string beneath each field, by name; Python throws it away, so it is read from the source."""
    lines: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        if issubclass(base, Struct) and base is not Struct and "__annotations__" in vars(base):
            body = ast.parse(textwrap.dedent(getsource(base))).body[0]
            statements = body.body if isinstance(body, ast.ClassDef) else []
            for field, beneath in pairwise(statements):
                match field, beneath:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(line))):
                        lines[name] = " ".join(line.split())
    return lines


def _lines(struct: inspect.StructType, indent: str) -> Iterator[str]:
    """What an agent is comes first, how it is run comes last."""
    meanings = field_lines(struct.cls)
    for field in sorted(struct.fields, key=lambda field: field.name in Options.__struct_fields__):
        plain = _innermost(field.type)
        default = "" if isinstance(plain, inspect.StructType) else _default(field)
        words = " | ".join(map(str, plain.values)) + "." if isinstance(plain, inspect.LiteralType) else ""
        meaning = " ".join(filter(None, (meanings.get(field.name), words)))
        yield f"{indent}{field.encode_name}: {default}".ljust(_MEANING) + (meaning and f"# {meaning}")
        if isinstance(plain, inspect.StructType):
            yield from _lines(plain, f"{indent}  ")


def _innermost(type: inspect.Type) -> inspect.Type:
    """Without what surrounds it: `X | None` is X."""
    while isinstance(type, inspect.Metadata | inspect.UnionType):
        type = type.type if isinstance(type, inspect.Metadata) else type.types[0]
    return type


def _default(field: inspect.Field) -> str:
    value: Any = getattr(Tuning(), field.name, None) if field.default is NODEFAULT else field.default
    if field.default_factory is not NODEFAULT:
        value = field.default_factory()
    if isinstance(value, UnsetType) or value is None:
        return ""
    if isinstance(value, float) and isinstance(field.type, inspect.Metadata):
        return written(value)
    return msgspec.json.encode(value).decode()
