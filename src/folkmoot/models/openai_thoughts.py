"""What a model thought, as servers that speak chat completions say it: in one of three fields, whole or in pieces.

`reasoning_content` and `reasoning_details` go back to the server with the calls that they led to; `reasoning` is only
for people to read.
"""

from __future__ import annotations

from typing import Any

import msgspec

from folkmoot.domain.message import Message, Thought
from folkmoot.models.incoming import joined, sound, text_of

_GROWING = ("text", "summary", "data")
"""Fields of a detail that come in pieces; the others are said once."""


class Thoughts:
    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._details: list[Any] = []

    def take(self, content: Any, reasoning: Any, details: Any) -> None:
        self._content.append(text_of(content))
        self._reasoning.append(text_of(reasoning))
        for detail in details if isinstance(details, list) else ():
            self._add(detail)

    def _add(self, detail: Any) -> None:
        last: Any = self._details[-1] if self._details else None
        if not _goes_on(last, detail):
            self._details.append(detail)
            return
        grown = {key: last.get(key, "") + detail[key] for key in _GROWING if key in detail}
        said = {key: value for key, value in detail.items() if value is not None}
        self._details[-1] = {**last, **said, **grown}

    def all(self) -> tuple[Thought, ...]:
        """Servers that give details say the same as text beside them."""
        content, reasoning = joined(self._content), joined(self._reasoning)
        if self._details:
            sealed = msgspec.json.encode(sound(self._details)).decode()
            return (Thought("reasoning_details", content or reasoning, sealed),)
        if content:
            return (Thought("reasoning_content", content),)
        return (Thought("reasoning", reasoning),) if reasoning else ()


def sent_back(message: Message) -> dict[str, Any]:
    """The fields of a message with calls that hold what led to them."""
    back: dict[str, Any] = {}
    for thought in message.thoughts:
        if thought.kind == "reasoning_details":
            back[thought.kind] = msgspec.Raw(thought.sealed.encode())
        elif thought.kind == "reasoning_content":
            back[thought.kind] = thought.text
    return back


def _goes_on(last: Any, detail: Any) -> bool:
    """The same kind at the same index; what has no index stands for itself."""
    if not isinstance(last, dict) or not isinstance(detail, dict) or detail.get("index") is None:
        return False
    same = (last.get("type"), last.get("index")) == (detail.get("type"), detail["index"])
    texts = (each.get(key, "") for each in (last, detail) for key in _GROWING)
    return same and all(isinstance(text, str) for text in texts)
