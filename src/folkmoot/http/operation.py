"""One operation of the API: what it takes and gives is said once, checked by it, and documented from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.app import Folkmoot
from folkmoot.http.house import House, house_of
from folkmoot.http.problems import Refused


@dataclass(frozen=True)
class Asked:
    """A request, checked."""

    house: House
    path: Mapping[str, str]
    query: Any
    """An instance of the operation's `query`."""
    body: Any
    """An instance of the operation's `body`."""
    request: Request

    @property
    def moot(self) -> Folkmoot:
        return self.house.moot


@dataclass(frozen=True, kw_only=True)
class Operation:
    method: str
    path: str
    """Below `/api`, with `{names}`."""
    summary: str
    handle: Callable[[Asked], Awaitable[Any]]
    """What it returns becomes the JSON answer; a `Response` goes out as it is."""
    answer: Any = Any
    """The type of the answer."""
    query: type[msgspec.Struct] | None = None
    body: type[msgspec.Struct] | None = None
    status: int = 200
    problems: tuple[int, ...] = ()
    """Statuses of problems beside those that every operation may have."""
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By the id of another operation: which of its parameters are which part of this answer."""
    name: str = ""
    """Its id; empty: the name of the function."""

    @property
    def id(self) -> str:
        return self.name or self.handle.__name__


def route(operation: Operation) -> Route:
    async def endpoint(request: Request) -> Response:
        answer = await operation.handle(await _asked(operation, request))
        if isinstance(answer, Response):
            return answer
        return Response(msgspec.json.encode(answer), operation.status, media_type="application/json")

    return Route(f"/api{operation.path}", endpoint, methods=[operation.method], name=operation.id)


async def _asked(operation: Operation, request: Request) -> Asked:
    query = body = None
    if operation.query:
        query = _converted(dict(request.query_params), operation.query, "the query", strict=False)
    if operation.body:
        try:
            body = msgspec.json.decode(await request.body(), type=operation.body)
        except msgspec.DecodeError as error:
            raise Refused(400, f"the body is not what is wanted: {error}") from error
    return Asked(house_of(request), request.path_params, query, body, request)


def _converted(given: Mapping[str, str], type: type[msgspec.Struct], what: str, *, strict: bool) -> Any:
    try:
        return msgspec.convert(given, type, strict=strict)
    except msgspec.ValidationError as error:
        raise Refused(400, f"{what} is not what is wanted: {error}") from error
