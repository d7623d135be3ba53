"""What comes in from outside becomes a checked value, or a 400 that says what is wrong with it."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar, dataclass_transform

import msgspec
from msgspec import Meta
from starlette.requests import HTTPConnection

from folkmoot.domain.text import storable
from folkmoot.http.problems import Refused

T = TypeVar("T", bound=msgspec.Struct)

Words = Annotated[str, Meta(pattern=r"\S")]
"""A text that says something."""
Position = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""Of an entry in the journal."""

WorkSessionId = Annotated[str, Meta(pattern="^(ws_[A-Za-z0-9_-]+)?$")]
"""Or empty."""


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
        raise Refused(400, f"{what} is not what is wanted: {error}") from error


def _storable(given: Any) -> Any:
    match given:
        case str():
            return storable(given)
        case dict():
            return {storable(key): _storable(value) for key, value in given.items()}
        case list():
            return [_storable(value) for value in given]
    return given
