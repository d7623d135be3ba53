"""What comes in from outside: queries and bodies become checked values, lists come in pages, repeated requests are
answered once."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import Annotated, Any, TypeVar, dataclass_transform

import msgspec
from msgspec import Meta
from starlette.datastructures import URL, Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from folkmoot.domain.text import storable
from folkmoot.domain.trace import PARENT, STATE, Told, told
from folkmoot.errors import BAD_VALUE
from folkmoot.http.problems import HttpError
from folkmoot.operations.operation import choices_of

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

_SOMETHING = r"\S"
Words = Annotated[str, Meta(pattern=_SOMETHING)]
"""A text that says something."""
Position = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""Of an entry in the journal."""
WorkSessionId = Annotated[str, Meta(pattern="^(ws_[A-Za-z0-9_-]+)?$")]
"""Or empty."""
Limit = Annotated[int, Meta(ge=1, le=1000)]
HEADER = "Idempotency-Key"
LONGEST = 200
"""Characters of a key."""
KEPT = 10_000
"""Answers under keys; the oldest are forgotten first."""
_BLANK = f"Expected `str` matching regex {_SOMETHING!r}"
_NO_SUCH = re.compile(r"^Invalid enum value .* - at `\$\.(\w+)`$")


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class ApiInput(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The base of bodies and queries."""


class AuthoredInput(ApiInput, kw_only=True):
    """The base of everything that a person says."""

    by: Words = "user"
    """Who says it; no agent's name."""


def parse_query(request: HTTPConnection, type: type[S]) -> S:
    many = {field.encode_name for field in msgspec.structs.fields(type) if field.default == ()}
    given: dict[str, Any] = {}
    for key, value in request.query_params.multi_items():
        if key in many:
            given.setdefault(key, []).append(storable(value))
        elif key in given:
            raise HttpError(400, f"the query has {key!r} twice")
        else:
            given[key] = storable(value)
    return _convert_input(given, type, "the query", strict=False)


def parse_body(content: bytes, type: type[S]) -> S:
    try:
        given = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HttpError(400, f"the body is no JSON: {error}") from error
    return _convert_input(_to_storable(given), type, "the body", strict=True)


def _convert_input(given: Any, type: type[S], what: str, *, strict: bool) -> S:
    try:
        return msgspec.convert(given, type, strict=strict)
    except (msgspec.ValidationError, RecursionError) as error:
        raise HttpError(
            400, f"{what} is not what is wanted: {_explain_error(str(error), type)}", code=BAD_VALUE
        ) from error


def _explain_error(words: str, type: type[S]) -> str:
    """What is wrong, and what would be right where msgspec does not say it."""
    if found := _NO_SUCH.search(words):
        field = next(each for each in msgspec.structs.fields(type) if each.encode_name == found[1])
        return f"{words}; it is one of {', '.join(choices_of(field.type))}"
    return words.replace(_BLANK, "Expected some words")


def _to_storable(given: Any) -> Any:
    match given:
        case str():
            return storable(given)
        case dict():
            return {storable(key): _to_storable(value) for key, value in given.items()}
        case list():
            return [_to_storable(value) for value in given]
    return given


class PageQuery(ApiInput, kw_only=True):
    """One page of a list."""

    limit: Limit = 100
    """At most so many."""
    after: str = ""
    """The id of the last one of the page before."""


class BackwardPageQuery(ApiInput, kw_only=True):
    """One page of what is read backwards in the journal."""

    limit: Limit = 100
    """At most so many."""
    before: Position = 0
    """Only those with a smaller `seq`; 0: from the newest on."""


@dataclass(frozen=True)
class ResultPage:
    """A page, and the parameter that leads to the next."""

    rows: Sequence[Any]
    cursor: str = ""
    """`after` or `before`."""
    value: str = ""
    """Of that; empty: there is no more."""

    def headers(self, url: URL) -> dict[str, str]:
        if not self.value:
            return {}
        further = url.include_query_params(**{self.cursor: self.value})
        return {"link": f'<{further.path}?{further.query}>; rel="next"'}


def paginate_rows(rows: Iterable[T], page: PageQuery, id: Callable[[T], str]) -> ResultPage:
    """The page of all rows that is wanted; those after it are not asked for."""
    left = iter(rows)
    if page.after and not any(id(row) == page.after for row in left):
        raise HttpError(400, f"`after` names {page.after!r}, and this list has no such row")
    *shown, more = *islice(left, page.limit), next(left, None)
    return ResultPage(shown, "after", id(shown[-1]) if more is not None else "")


def read_trace(headers: Headers) -> Told:
    """The trace a request belongs to, as fields of an `Errand`. A header that comes twice is one with commas: sound for
    one of the two only."""
    return told({name: ",".join(headers.getlist(name)) for name in (PARENT, STATE)})


def reused_key_error() -> HttpError:
    return HttpError(422, f"this {HEADER} was used for another request; take a new one")


def read_idempotency_key(request: Request) -> str:
    """Empty if it has none."""
    key = request.headers.get(HEADER, "")
    if len(key) > LONGEST or not key.isprintable():
        raise HttpError(400, f"an {HEADER} has at most {LONGEST} characters, all of them printable")
    return key


@dataclass
class _CachedAnswer:
    request: str
    """What was asked, by hash."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    answer: Any = None


class IdempotencyCache:
    """A request that comes again under its key gets the answer that it had, and does nothing twice. What failed is not
    kept: it may be tried again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _CachedAnswer] = OrderedDict()

    async def answer(
        self, request: Request, content: bytes, make: Callable[[], Awaitable[Response]]
    ) -> Response:
        if not (key := read_idempotency_key(request)):
            return await make()
        asked = sha256(f"{request.url.path}?{request.url.query}\n".encode() + content).hexdigest()
        return await self.once(key, asked, make)

    async def once(self, key: str, asked: str, make: Callable[[], Awaitable[T]]) -> T:
        """What was made under this key, for whoever asks the same; raises `Refused` for others."""
        kept = self._kept.setdefault(key, _CachedAnswer(asked))
        if kept.request != asked:
            raise reused_key_error()
        async with kept.lock:  # whoever comes meanwhile waits for the first
            if kept.answer is None:
                try:
                    kept.answer = await make()
                except BaseException:
                    self._kept.pop(key, None)
                    raise
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        made: T = kept.answer
        return made
