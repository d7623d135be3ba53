"""What stands in a message of the messages API beside text and calls: images, documents, and what a model thought."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from folkmoot.domain.message import Message, Thought
from folkmoot.domain.part import TEXT, Part


def file_block(part: Part, contents: Mapping[str, bytes]) -> dict[str, Any]:
    content = contents[part.artifact]
    if part.media == TEXT:
        source = {"type": "text", "media_type": TEXT, "data": content.decode()}
    else:
        source = {"type": "base64", "media_type": part.media, "data": b64encode(content).decode()}
    if part.is_image:
        return {"type": "image", "source": source}
    return {"type": "document", "title": part.name, "source": source}


def with_thoughts(said: list[object], thoughts: Sequence[Thought]) -> list[object]:
    """Each where it stood, unchanged: what is signed is refused otherwise. No message may end with one that led to
    nothing, because the model ran out of tokens."""
    blocks: list[object] = []
    for place, block in enumerate(said):
        blocks += [*(_thought(each) for each in thoughts if each.at == place), block]
    return blocks


def _thought(thought: Thought) -> object:
    if thought.kind == "redacted_thinking":
        return {"type": thought.kind, "data": thought.sealed}
    return {"type": "thinking", "thinking": thought.text, "signature": thought.sealed}


def began_without_a_thought(messages: Sequence[Message]) -> bool:
    """Whether the turn under way, which lasts until the user speaks again, began with a call out of the blue."""
    turn = list(takewhile(lambda message: message.role != "user", reversed(messages)))
    first = next((message for message in reversed(turn) if message.role == "assistant"), None)
    return bool(first and first.calls and not any(thought.at == 0 for thought in first.thoughts))
