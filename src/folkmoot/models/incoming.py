"""What a provider sends is made sound here, once: text that can be stored, numbers that count, arguments."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from folkmoot.domain.message import ToolCall, Usage
from folkmoot.domain.text import storable
from folkmoot.ports import Hear

T = TypeVar("T")

DEEPEST = 64
"""Levels of nesting in arguments that are taken; what is deeper breaks somebody's encoder sooner or later."""

_MOST = 2**53
_NUMBERS = (int, float)
"""The types of what JSON calls a number; a bool is none."""
_JSON = msgspec.json.Decoder()
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Unreadable(Exception):
    """Not JSON, or JSON of another shape. Never leaves the room: an adapter turns it into ModelFailed."""


def read(body: bytes, decoder: msgspec.json.Decoder[T], *, piece: bool = False) -> T:
    """Decode with all text made storable; the fast way where nothing in the body speaks against it.

    `piece`: of a stream, where half a character may end one part and begin the next: see `joined`.
    """
    if piece or b"\\u0000" not in body:
        try:
            return decoder.decode(body)
        except _BROKEN:
            pass
    try:
        return _convert(sound(_lenient(body), text=str if piece else storable), decoder.type)
    except RecursionError:
        raise Unreadable("nested too deeply") from None


def joined(pieces: list[str]) -> str:
    """The whole text of a stream, made storable."""
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return storable(text)


def whole_characters(hear: Hear) -> Hear:
    """Tell the pieces of a stream on, so that together they are what `joined` gives."""
    half = ""

    def told(piece: str) -> None:
        nonlocal half
        text, half = half + piece, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, half = text[:-1], text[-1]
        if text:
            hear(joined([text]))

    return told


def tool_call(id: Any, tool: Any, raw: Any) -> ToolCall:
    """A call as the model wished it; arguments that are no JSON object are kept as they came."""
    arguments, malformed = _arguments(raw)
    return ToolCall(id=_word(id), tool=_word(tool), arguments=arguments, malformed=malformed)


def count(value: Any) -> int:
    """A number of tokens; whatever is none counts nothing."""
    if type(value) in _NUMBERS and 0 < value < math.inf:
        return min(int(value), _MOST)
    return 0


def counted(into: Any, out: Any, read: Any, written: Any) -> Usage:
    """All of it or nothing: no request is empty, so who counts no input counts nothing, and it is guessed. What a cache
    gave or took is a part of the input."""
    if not (into := count(into)):
        return Usage()
    read = min(count(read), into)
    return Usage(into, count(out), read, min(count(written), into - read))


def money(value: Any) -> float | None:
    if type(value) in _NUMBERS and 0 <= value < math.inf:
        return float(value)
    return None


def text_of(content: Any) -> str:
    """A string, or a list of parts of which those with `text` count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return "".join(part for part in parts if isinstance(part, str))


def sound(value: Any, text: Callable[[str], str] = storable) -> Any:
    """The same JSON value with storable text and without numbers that JSON cannot write."""
    match value:
        case str():
            return text(value)
        case dict():
            return {storable(key): sound(item, text) for key, item in value.items()}
        case list():
            return [sound(item, text) for item in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def _arguments(raw: Any) -> tuple[dict[str, Any], str]:
    if isinstance(raw, str):
        return _parsed(raw)
    if raw is None:
        return {}, ""
    if isinstance(raw, dict) and not _too_deep(raw):
        return sound(raw), ""
    try:
        return {}, storable(json.dumps(raw, ensure_ascii=False))
    except RecursionError:
        return {}, "(nested too deeply to be shown)"


def _parsed(raw: str) -> tuple[dict[str, Any], str]:
    if not raw.strip():
        return {}, ""  # how some providers write a call without arguments
    try:
        value = read(raw.encode(), _JSON)
    except Unreadable:
        return {}, raw
    if not isinstance(value, dict) or (raw.count("{") + raw.count("[") > DEEPEST and _too_deep(value)):
        return {}, raw
    return value, ""


def _lenient(body: bytes) -> Any:
    """As Python reads JSON: NaN, bare line breaks in strings, half characters and a byte order mark pass."""
    try:
        return json.loads(body.decode("utf-8", "replace").lstrip("\ufeff"), strict=False)
    except ValueError as error:
        raise Unreadable(f"not JSON: {error}") from None


def _convert(value: Any, shape: type[T]) -> T:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise Unreadable(str(error)) from None
    except UnicodeEncodeError:  # half a character where no text should be
        raise Unreadable("of another shape") from None


def _too_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        items = (item for one in level for item in (one.values() if isinstance(one, dict) else one))
        level = [item for item in items if isinstance(item, dict | list)]
        depth += 1
    return bool(level)


def _word(value: Any) -> str:
    return "" if value is None else storable(value if isinstance(value, str) else str(value))
