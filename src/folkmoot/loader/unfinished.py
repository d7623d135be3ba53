"""What this release checks but does not do yet; whoever builds one of these takes it out of the list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import fields

from folkmoot.domain.agent import Frontmatter
from folkmoot.domain.settings import Settings
from folkmoot.loader.findings import Findings
from folkmoot.loader.nodes import Node, place_of

FRONTMATTER = ("cache", "plugins", "tool_output")
SETTINGS = ("limits.a2a_hops",)


def warn_of_unfinished(declared: Frontmatter | Settings, node: Node, findings: Findings) -> None:
    """One warning for each that is set to something."""
    standard = type(declared)()
    for path in FRONTMATTER if isinstance(declared, Frontmatter) else SETTINGS:
        names = path.split(".")
        if _value(declared, names) != _value(standard, names):
            keys = tuple(_keys(declared, names))
            message = f"`{'.'.join(keys)}` is checked, but this release does not do it yet"
            findings.warning(place_of(node, keys), message)


def _value(struct: Struct, names: list[str]) -> Any:
    value: Any = struct
    for name in names:
        value = getattr(value, name)
    return value


def _keys(struct: Struct, names: list[str]) -> Iterator[str]:
    """As they are written in a file."""
    for name in names:
        yield next(field.encode_name for field in fields(struct) if field.name == name)
        struct = getattr(struct, name)
