"""Images and documents inside what chat clients send, in the forms of OpenAI's and Anthropic's APIs.

Only what stands in the request itself is taken: this server fetches nothing for a client.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from folkmoot.domain.part import File
from folkmoot.errors import WrongUse

_DATA_URL = re.compile(r"data:([\w.+/-]*)(?:;[\w-]+=[^;,]*)*;base64,", re.IGNORECASE)
_EXTENSIONS = {"image/jpeg": "jpg", "text/plain": "txt"}


def file_of(part: Mapping[str, Any]) -> File | None:
    """The file in a content part; none if it is of another kind, such as text. Raises `WrongUse`."""
    match part:
        case {"type": "image_url", "image_url": {"url": str(url)}} | {
            "type": "image_url" | "input_image",
            "image_url": str(url),
        }:
            return _from_url(url, "")
        case {"type": "file", "file": {"file_data": str(data), **more}} | {
            "type": "input_file",
            "file_data": str(data),
            **more,
        }:
            return _from_url(data, _name(more.get("filename")))
        case {"type": "image" | "document" as kind, "source": dict(source)}:
            return _from_source(kind, source, _name(part.get("title")))
        case {"type": "image_url" | "input_image" | "file" | "input_file" | "image" | "document" as kind}:
            raise WrongUse(f"a part of type {kind!r} holds no content that can be read here; {_INLINE}")
        case _:
            return None


_INLINE = "send the content itself, as base64: nothing is fetched for a client"


def _from_url(url: str, name: str) -> File:
    """Some clients send base64 without the head of a data URL."""
    head = _DATA_URL.match(url)
    if not head and re.match(r"[a-z][a-z0-9+.-]*:", url, re.IGNORECASE):
        raise WrongUse(f"{url[:80]!r} is an address; {_INLINE}")
    media = head[1].lower() if head else ""
    return _file(url[head.end() :] if head else url, media, name)


def _from_source(kind: str, source: Mapping[str, Any], name: str) -> File:
    match source:
        case {"type": "base64", "data": str(data)}:
            return _file(data, str(source.get("media_type") or ""), name)
        case {"type": "text", "data": str(data)}:
            return File(name or "document.txt", data.encode(), "text/plain")
        case _:
            told = f"a part of type {kind!r} with a source of type {source.get('type')!r}"
            raise WrongUse(f"{told} cannot be read here; {_INLINE}")


def _file(data: str, media: str, name: str) -> File:
    name = name or f"{media.partition('/')[0] or 'file'}.{_EXTENSIONS.get(media, media.rpartition('/')[2])}"
    try:
        return File(name.rstrip("."), b64decode("".join(data.split()), validate=True), media)
    except (binascii.Error, ValueError) as error:
        raise WrongUse(f"{name} is no base64: {error}") from None


def _name(given: Any) -> str:
    """Without the path that some clients send along."""
    return re.split(r"[/\\]", given)[-1] if isinstance(given, str) else ""
