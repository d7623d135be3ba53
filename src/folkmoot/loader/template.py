"""An agent file with every key there is, made from the definitions themselves, for `--help` and the docs."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from msgspec import NODEFAULT, Struct, UnsetType, json
from msgspec.inspect import Field, LiteralType, Metadata, StructType, Type, UnionType

from folkmoot.domain.agent import Frontmatter, Tuning
from folkmoot.domain.duration import written
from folkmoot.domain.settings import Options
from folkmoot.loader.walk import definition

_MEANING = 30


def template() -> str:
    """Loads as it is: every key stands there as a comment, with its default and its meaning."""
    keys = "\n".join(f"# {line}".rstrip() for line in _lines(definition(Frontmatter), ""))
    return f"---\n{keys}\n---\nThe prompt: who this agent is and what it shall do.\n"


def field_lines(struct: type[Struct]) -> dict[str, str]:
    """The string beneath each field, by name; Python throws it away, so it is read from the source."""
    lines: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        if issubclass(base, Struct) and base is not Struct and "__annotations__" in vars(base):
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
            statements = body.body if isinstance(body, ast.ClassDef) else []
            for field, beneath in pairwise(statements):
                match field, beneath:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                        value=ast.Constant(value=str(line))
                    ):
                        lines[name] = " ".join(line.split())
    return lines


def _lines(struct: StructType, indent: str) -> Iterator[str]:
    """What an agent is comes first, how it is run comes last."""
    meanings = field_lines(struct.cls)
    for field in sorted(struct.fields, key=lambda field: field.name in Options.__struct_fields__):
        plain = _plain(field.type)
        default = "" if isinstance(plain, StructType) else _default(field)
        words = " | ".join(map(str, plain.values)) + "." if isinstance(plain, LiteralType) else ""
        meaning = " ".join(filter(None, (meanings.get(field.name), words)))
        yield f"{indent}{field.encode_name}: {default}".ljust(_MEANING) + (meaning and f"# {meaning}")
        if isinstance(plain, StructType):
            yield from _lines(plain, f"{indent}  ")


def _plain(type: Type) -> Type:
    """Without what surrounds it: `X | None` is X."""
    while isinstance(type, Metadata | UnionType):
        type = type.type if isinstance(type, Metadata) else type.types[0]
    return type


def _default(field: Field) -> str:
    value: Any = getattr(Tuning(), field.name, None) if field.default is NODEFAULT else field.default
    if field.default_factory is not NODEFAULT:
        value = field.default_factory()
    if isinstance(value, UnsetType) or value is None:
        return ""
    if isinstance(value, float) and isinstance(field.type, Metadata):
        return written(value)
    return json.encode(value).decode()
