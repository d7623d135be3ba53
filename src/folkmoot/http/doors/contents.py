"""What stands in the content of a client's message, in the forms of OpenAI's and Anthropic's APIs: text and files.

What is asked now must be readable. What was said before, or what a tool gave, is never refused, because clients repeat
their whole conversation and it would be lost: where a part cannot be read, a note stands in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from folkmoot.domain.part import TEXT, File, media_of, objection
from folkmoot.domain.value import Value
from folkmoot.errors import WrongUse
from folkmoot.http.doors.wrong import Wrong
from folkmoot.http.inline_files import file_of

Part = dict[str, Any]
Content = str | list[Part] | None
_TEXTS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "summary_text": "text",
    "refusal": "refusal",
}
"""The field that holds the text of a part, by the part's type."""
_SILENT = ("thinking", "redacted_thinking", "reasoning_text", "tool_use", "tool_result", "encrypted_content")
"""What clients give back as they got it and nobody said, or what is read elsewhere."""

_TAKEN = "read are text, and images and documents that stand in the request itself"


class Contents(Value):
    text: str
    files: tuple[File, ...] = ()


def read_content(content: Content, place: str, *, strict: bool = False, between: str = "") -> Contents:
    """`strict`: what is asked now. Raises `Wrong` for a part of that which cannot be read, and for what is no part."""
    if not isinstance(content, list):
        return Contents(content or "")
    texts: list[str] = []
    files: list[File] = []
    for number, part in enumerate(content):
        try:
            for each in _read_part(part, between):
                if isinstance(each, str):
                    texts.append(each)
                elif (why := objection(each)) and not strict:
                    texts.append(note(why, between))
                else:
                    files.append(each)
        except WrongUse as error:
            if strict:
                raise Wrong(400, f"{error}; {_TAKEN}", param=f"{place}[{number}]") from error
            texts.append(note(str(error), between))
    return Contents(between.join(texts), tuple(files))


def inline_texts(contents: Contents) -> Contents:
    """With the content of files that hold text as text: of what tools give, models are shown images alone."""
    plain = [file for file in contents.files if media_of(file.content) == TEXT]
    texts = (f"{file.name}:\n{file.content.decode()}" for file in plain)
    rest = tuple(file for file in contents.files if file not in plain)
    return Contents("\n\n".join((contents.text, *texts)).strip(), rest) if plain else contents


def note(words: str, between: str = "\n\n") -> str:
    """In the place of something that the model does not get."""
    return f"[{words}]" if between else f"\n[{words}]\n"


def _read_part(part: Mapping[str, Any], between: str) -> Iterator[str | File]:
    """Raises `WrongUse`."""
    kind, source = part.get("type"), part.get("source")
    if kind in _TEXTS:
        text = part.get(_TEXTS[kind])
        if not isinstance(text, str):
            raise WrongUse(f"a part of the type {kind!r} holds no text")
        yield text
    elif kind == "search_result":
        head = " ".join(str(part[key]) for key in ("title", "source") if part.get(key))
        yield f"{head}\n{_texts_in(part.get('content'))}"
    elif kind == "document" and isinstance(source, dict) and source.get("type") == "content":
        yield _texts_in(source.get("content"))
    elif kind == "tool_reference":
        yield note(f"the tool {part.get('tool_name')} is there from the user's next message on", between)
    elif file := file_of(part):
        yield file
    elif kind not in _SILENT:
        raise WrongUse(f"a part of the type {kind!r} cannot be read here")


def _texts_in(given: Any) -> str:
    """Of the parts inside a part."""
    if not isinstance(given, list):
        return given if isinstance(given, str) else ""
    texts = (part.get("text") for part in given if isinstance(part, dict))
    return "\n\n".join(text for text in texts if isinstance(text, str))
