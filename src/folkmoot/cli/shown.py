"""Text from models, tools and files as a terminal may show it: it can move, hide or recolour nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable

from folkmoot.domain.text import one_line

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    "\u2028\u2029"  # line and paragraph separator
    "\u202a-\u202e\u2066-\u2069"  # bidi embeddings, overrides and isolates
    "\ud800-\udfff]"  # lone surrogates: no stream can write them
)
_NEWLINES = re.compile("\r\n?")
_hidden: list[Callable[[str], str]] = []


def hide(redact: Callable[[str], str]) -> None:
    """From here on, whatever this process shows is redacted so."""
    _hidden[:] = [redact]


def shown(text: str) -> str:
    """Newlines and tabs stay; other control characters are spelled as JSON does it, so JSON stays JSON."""
    return escaped(_NEWLINES.sub("\n", text))


def escaped(text: str) -> str:
    for redact in _hidden:
        text = redact(text)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def in_one_line(text: str, width: int = 0) -> str:
    """For a place of one line: white space collapsed, cut at `width` characters if that is given."""
    return one_line(shown(text), width)
