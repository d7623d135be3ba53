"""What a server answers, as what a model reads."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import msgspec

from folkmoot.domain.message import ToolResult


def as_result(answer: types.CallToolResult) -> ToolResult:
    """All its text; and what it says as data, unless the text says the same."""
    parts = [_text(content) for content in answer.content]
    data = answer.structured_content
    if data is not None and not _says(parts, data):
        parts.append(msgspec.json.encode(data).decode())
    return ToolResult(text="\n".join(parts), failed=bool(answer.is_error))


def _says(parts: list[str], data: Any) -> bool:
    """Servers tell data as JSON too, or wrap the text that they tell into an object, for whoever wants one."""
    whole = "\n".join(parts)
    return (isinstance(data, dict) and list(data.values()) == [whole]) or any(
        _is(part, data) for part in parts
    )


def _text(content: types.ContentBlock) -> str:
    """What is no text is left out, and said to be."""
    match content:
        case types.TextContent():
            return content.text
        case types.ImageContent() | types.AudioContent():
            return _left_out(content.type, content.mime_type, content.data)
        case types.ResourceLink():
            return f"[resource {content.name}: {content.uri}]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return f"[resource {resource.uri}]\n{resource.text}"
        case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
            return _left_out(f"resource {resource.uri}", resource.mime_type or "", resource.blob)
    return f"[{content.type} is left out]"


def _left_out(what: str, kind: str, encoded: str) -> str:
    return f"[{what}{f' {kind}' if kind else ''} of {len(encoded) * 3 // 4:,} bytes is left out]"


def _is(text: str, data: Any) -> bool:
    try:
        return bool(msgspec.json.decode(text) == data)
    except msgspec.DecodeError:
        return False
