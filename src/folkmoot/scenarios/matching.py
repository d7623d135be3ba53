"""Whether something is as it was expected, by what was said of it alone."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any

from folkmoot.domain.naming import ALIASES, wire_glob, wire_name

_PATTERN = re.compile(r"/(.+)/", re.DOTALL)


def fits(wanted: Any, found: Any) -> bool:
    """A mapping has at least these keys, a list just these items; a text like `/a pattern/` is found in a text."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and fits(each, found[key]) for key, each in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(wanted) == len(found) and all(map(fits, wanted, found))
    if isinstance(wanted, str) and isinstance(found, str) and (pattern := _PATTERN.fullmatch(wanted)):
        return wanted == found or _found(pattern[1], found)
    return bool(wanted == found) and isinstance(wanted, bool) == isinstance(found, bool)


def is_tool(name: str, wire: str) -> bool:
    """`psp.refund`, `psp__refund` and `psp.*` are all meant by it; `files.read` by `file_read` too."""
    return wire in (name, wire_name(name), wire_name(ALIASES.get(name, name))) or fnmatchcase(
        wire, wire_glob(name)
    )


def in_files(wire: str) -> str:
    """As an author would call the tool; as good as always."""
    return wire.replace("__", ".")


def _found(pattern: str, text: str) -> bool:
    try:
        return bool(re.search(pattern, text))
    except re.error:
        return False
