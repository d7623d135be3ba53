"""What comes in from outside becomes a checked value, or a 400 that says what is wrong with it."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar, dataclass_transform

import msgspec
from msgspec import Meta
from starlette.requests import HTTPConnection

from folkmoot.domain.text import storable
from folkmoot.errors import BAD_VALUE
from folkmoot.http.problems import Refused
from folkmoot.operations.operation import choices_of

T = TypeVar("T", bound=msgspec.Struct)

_SOMETHING = r"\S"
Words = Annotated[str, Meta(pattern=_SOMETHING)]
"""A text that says something."""
Position = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""Of an entry in the journal."""

WorkSessionId = Annotated[str, Meta(pattern="^(ws_[A-Za-z0-9_-]+)?$")]
"""Or empty."""
_BLANK = f"Expected `str` matching regex {_SOMETHING!r}"
_NO_SUCH = re.compile(r"^Invalid enum value .* - at `\$\.(\w+)`$")


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Given(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The base of bodies and queries."""


class Said(Given, kw_only=True):
    """The base of everything that a person says."""

    by: Words = "user"
    """Who says it; no agent's name."""


def query_of(request: HTTPConnection, type: type[T]) -> T:
    many = {field.encode_name for field in msgspec.structs.fields(type) if field.default == ()}
    given: dict[str, Any] = {}
    for key, value in request.query_params.multi_items():
        if key in many:
            given.setdefault(key, []).append(storable(value))
        elif key in given:
            raise Refused(400, f"the query has {key!r} twice")
        else:
            given[key] = storable(value)
    return _converted(given, type, "the query", strict=False)


def body_of(content: bytes, type: type[T]) -> T:
    try:
        given = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"the body is no JSON: {error}") from error
    return _converted(_storable(given), type, "the body", strict=True)


def _converted(given: Any, type: type[T], what: str, *, strict: bool) -> T:
    try:
        return msgspec.convert(given, type, strict=strict)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Refused(
            400, f"{what} is not what is wanted: {_helpful(str(error), type)}", code=BAD_VALUE
        ) from error


def _helpful(words: str, type: type[T]) -> str:
    """What is wrong, and what would be right where msgspec does not say it."""
    if found := _NO_SUCH.search(words):
        field = next(each for each in msgspec.structs.fields(type) if each.encode_name == found[1])
        return f"{words}; it is one of {', '.join(choices_of(field.type))}"
    return words.replace(_BLANK, "Expected some words")


def _storable(given: Any) -> Any:
    match given:
        case str():
            return storable(given)
        case dict():
            return {storable(key): _storable(value) for key, value in given.items()}
        case list():
            return [_storable(value) for value in given]
    return given
