"""Images and documents that go with a request: which are taken, and what is recorded of them. Pure.

What a file is, its content says, never its name: a provider that is sent a JPEG as PNG refuses the whole conversation.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from folkmoot.domain.text import estimated_tokens
from folkmoot.domain.value import Value

PDF, TEXT = "application/pdf", "text/plain"
TAKEN = "PNG, JPEG, GIF and WebP images, PDF and UTF-8 text"
LARGEST = {"image": 5_000_000, PDF: 20_000_000, TEXT: 1_000_000}
"""Bytes of one file, by what it is; what providers take."""
LARGEST_TOGETHER = 20_000_000
MOST = 20
IMAGE_TOKENS = 5_000
"""An upper guess: providers count a large image as 800 to 5,000 tokens."""
PAGE_TOKENS = 3_000
"""The same for a page of a PDF, of which providers read the text and often a picture too."""

_MAGIC = (
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ("image/gif", re.compile(rb"GIF8[79]a")),
    ("image/webp", re.compile(rb"RIFF.{4}WEBP", re.DOTALL)),
    (PDF, re.compile(rb"%PDF-")),
)
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PACKED = re.compile(rb"/ObjStm")
_MOST_STREAMS, _MOST_PACKED, _MOST_UNPACKED = 200, 200_000, 500_000
_BYTES_A_PAGE = 50_000
"""Of a PDF that does not show its pages."""


class Part(Value):
    """Something in a message that is no text. Its content is an artifact, so that events stay small."""

    artifact: str
    media: str
    """Such as `image/png`, as its content shows."""
    name: str
    size: int
    """Bytes."""
    tokens: int
    """An upper guess, made when it came in; it counts until the provider has counted."""

    @property
    def is_image(self) -> bool:
        return self.media.startswith("image/")

    def __str__(self) -> str:
        return f"{self.name} ({self.media}, {self.size:,} bytes)"


class File(Value):
    """An image or a document as somebody gives it."""

    name: str
    content: bytes
    media: str = ""
    """What its giver says that it is; absent: whatever its content shows."""


def recorded(file: File, artifact: str) -> Part:
    """What the journal holds of a file against which there is no `objection`."""
    media = media_of(file.content)
    return Part(artifact, media, file.name, len(file.content), _tokens(media, file.content))


def objection(file: File) -> str:
    """Why a file is not taken; empty if it is."""
    media, said = media_of(file.content), file.media.partition(";")[0].strip().lower()
    if not file.content:
        return f"{file.name} is empty"
    if not media:
        return f"{file.name} is nothing that a model reads; taken are {TAKEN}"
    if said and said != media and not (media == TEXT and said.startswith("text/")):
        return f"{file.name} is said to be {said}, but its content is {media}; taken are {TAKEN}"
    most = LARGEST[media if media in LARGEST else "image"]
    if len(file.content) > most:
        return f"{file.name} has {len(file.content):,} bytes; {media} may have {most:,}"
    return ""


def media_of(content: bytes) -> str:
    """Empty for what nobody takes."""
    for media, begins in _MAGIC:
        if begins.match(content):
            return media
    try:
        return "" if "\0" in content.decode() else TEXT
    except UnicodeDecodeError:
        return ""


def _tokens(media: str, content: bytes) -> int:
    if media == TEXT:
        return estimated_tokens(content.decode())
    return _pages(content) * PAGE_TOKENS if media == PDF else IMAGE_TOKENS


def _pages(content: bytes) -> int:
    """As far as they can be counted without reading the whole format, which may hide them in packed streams."""
    found = len(_PAGE.findall(content)) + sum(len(_PAGE.findall(packed)) for packed in _unpacked(content))
    return found or len(content) // _BYTES_A_PAGE + 1


def _unpacked(content: bytes) -> Iterator[bytes]:
    """So many of them, each up to a length: what is packed may be made to burst."""
    for begins in islice(_PACKED.finditer(content), _MOST_STREAMS):
        behind = content[begins.end() : begins.end() + _MOST_PACKED]
        packed = behind.partition(b"stream")[2].partition(b"endstream")[0]
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(packed.lstrip(b"\r\n"), _MOST_UNPACKED)
