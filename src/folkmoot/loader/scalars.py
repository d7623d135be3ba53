"""What a plain word of YAML 1.2 means: `true` is a boolean; `off`, `yes` and `2024-01-01` are text."""

from __future__ import annotations

import re

Plain = str | int | float | bool | None

_WORDS: dict[str, Plain] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+", re.ASCII)
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_GREATEST = 2**63 - 1
_LONGEST_NUMBER = 40


def meaning(text: str) -> Plain:
    """The value of an unquoted scalar. Raises ValueError for a number that nobody can mean."""
    if text in _WORDS:
        return _WORDS[text]
    if not (whole := _WHOLE.fullmatch(text)) and not _DECIMAL.fullmatch(text):
        return text
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(text)} characters is too long; put it in quotes if it is text")
    number = int(text, 0 if text[:2] in ("0x", "0o") else 10) if whole else float(text)
    if abs(number) > _GREATEST:
        raise ValueError(f"the number {text} is too large; put it in quotes if it is text")
    return number
