"""An expectation that was not met, and what may be expected of a text. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from folkmoot.domain.value import Value
from folkmoot.loader.nodes import Path as Keys
from folkmoot.scenarios.matching import fits
from folkmoot.scenarios.scenario import Text

NOTHING = "(nothing)"


class Miss(Value):
    """An expectation that was not met."""

    keys: Keys
    """Where it stands in the scenario."""
    expected: str
    actual: str


def text_misses(keys: Keys, wanted: Text, text: str, structured: Any = None) -> Iterator[Miss]:
    if wanted.equals is not None and text.strip() != wanted.equals.strip():
        yield Miss((*keys, "equals"), wanted.equals, text or NOTHING)
    for number, part in enumerate(wanted.contains):
        if part not in text:
            yield Miss((*keys, "contains", number), f"contains {part!r}", text or NOTHING)
    if wanted.matches is not None and not re.search(wanted.matches, text):
        yield Miss((*keys, "matches"), f"matches /{wanted.matches}/", text or NOTHING)
    if wanted.json is not None:
        found = _decoded(text) if structured is None else structured
        if not fits(wanted.json, found):
            yield Miss(
                (*keys, "json"),
                in_json(wanted.json),
                in_json(found) if found is not None else text or NOTHING,
            )


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def in_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
