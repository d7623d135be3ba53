"""What a server answers, as what a model reads."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import mcp_types as types
import msgspec

from folkmoot.domain.message import Attachment, ToolResult


def as_result(answer: types.CallToolResult) -> ToolResult:
    """All its text; and what it says as data, unless the text says the same."""
    parts = [_text(content) for content in answer.content]
    data = answer.structured_content
    if data is not None and not _says(parts, data):
        parts.append(msgspec.json.encode(data).decode())
    attached = tuple(each for each in map(_attachment, answer.content) if each)
    return ToolResult(text="\n".join(parts), failed=bool(answer.is_error), attachments=attached)


def _says(parts: list[str], data: Any) -> bool:
    """Servers tell data as JSON too, or wrap the text that they tell into an object, for whoever wants one."""
    whole = "\n".join(parts)
    return (isinstance(data, dict) and list(data.values()) == [whole]) or any(
        _is(part, data) for part in parts
    )


def _text(content: types.ContentBlock) -> str:
    """What is no text is attached, and said to be."""
    match content:
        case types.TextContent():
            return content.text
        case types.ImageContent() | types.AudioContent():
            return _sized(content.type, content.mime_type, content.data)
        case types.ResourceLink():
            return f"[resource {content.name}: {content.uri}]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return f"[resource {resource.uri}]\n{resource.text}"
        case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
            return _sized(f"resource {resource.uri}", resource.mime_type or "", resource.blob)
    return f"[{content.type} is left out]"


def _sized(what: str, kind: str, encoded: str) -> str:
    return f"[{what}{f' {kind}' if kind else ''} of {len(_bytes(encoded)):,} bytes]"


def _attachment(content: types.ContentBlock) -> Attachment | None:
    match content:
        case types.ImageContent() | types.AudioContent():
            return Attachment(f"{content.type} {content.mime_type}", _bytes(content.data))
        case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
            return Attachment(f"resource {resource.uri}", _bytes(resource.blob))
    return None


def _bytes(encoded: str) -> bytes:
    """What a server calls base64; if it is not, what it sent."""
    try:
        return b64decode(encoded, validate=True)
    except ValueError:
        return encoded.encode()


def _is(text: str, data: Any) -> bool:
    try:
        return bool(msgspec.json.decode(text) == data)
    except msgspec.DecodeError:
        return False
