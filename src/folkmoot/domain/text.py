"""Text from outside is made storable once, where it comes in."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """Replace what JSON, SQLite or a terminal cannot hold: NUL and lone surrogates."""
    if text.isascii() and "\x00" not in text:
        return text  # nearly always, and found out without looking at every character
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str, width: int = 0) -> str:
    """White space collapsed: what others wrote stays in its place in a document, and begins no section of its own.

    With `width`, cut to so many characters.
    """
    line = " ".join(text.split())
    return line if not width or len(line) <= width else f"{line[: width - 1]}…"


def estimated_tokens(text: str) -> int:
    """An upper guess, before the provider counts: three bytes of UTF-8 a token."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size // 3 + 1
