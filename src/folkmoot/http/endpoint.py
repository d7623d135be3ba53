"""One operation of the API: what it takes and gives is said once, checked by it, and documented from it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.app import Folkmoot
from folkmoot.coordination.moot import Moot
from folkmoot.coordination.record_store import RUNTIME, Author
from folkmoot.engine.claims import draw_id_seed
from folkmoot.http.guard import OPEN
from folkmoot.http.problems import HttpError
from folkmoot.http.requests import ResultPage, parse_body, parse_query, read_idempotency_key, reused_key_error
from folkmoot.http.state import ServerState, get_server_state

ALWAYS = (400, 403, 408, 413, 421, 431, 503)
"""What the guard may say to any request, and the world to anything that is done."""
_NAMES = re.compile(r"{(\w+)}")


class Document(msgspec.Struct):
    """All that is known of one thing; its further fields are those that the terminal shows with `--json`."""

    id: str
    status: str


@dataclass(frozen=True)
class ApiRequest:
    """A request, checked."""

    house: ServerState
    path: Mapping[str, str]
    query: Any
    """An instance of the operation's `query`."""
    body: Any
    """An instance of the operation's `body`."""
    request: Request

    @property
    def moot(self) -> Folkmoot:
        return self.house.moot

    @property
    def desks(self) -> Moot:
        return self.house.moot.moot

    @property
    def id(self) -> str:
        return self.path["id"]

    @property
    def author(self) -> Author:
        """Who says it. Nobody speaks for an agent, nor for the runtime."""
        name: str = self.body.by
        if name == RUNTIME or any(name == agent.id for agent in self.moot.graph.agents.values()):
            raise HttpError(
                400, f"{name!r} is an agent, and speaks through its own calls; use another name in `by`"
            )
        return Author(name)

    @property
    def key(self) -> str:
        """Its `Idempotency-Key`; empty if it has none."""
        return read_idempotency_key(self.request)

    @property
    def chance(self) -> str:
        """For the name of what is created: the same one whenever the request comes again under its key."""
        return (
            sha256(f"{self.request.url.path} {self.key}".encode()).hexdigest() if self.key else draw_id_seed()
        )

    def must_repeat(self, same: bool) -> None:
        """What lies under the key of this request must be what it wants: a restart forgets bodies, not names."""
        if not same:
            raise reused_key_error()


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    method: str
    path: str
    """Below `/api`, with `{names}`."""
    summary: str
    handle: Callable[[ApiRequest], Awaitable[Any]]
    """What it returns becomes the JSON answer; a `Response` goes out as it is."""
    answer: Any = Any
    """The type of the answer."""
    query: type[msgspec.Struct] | None = None
    body: type[msgspec.Struct] | None = None
    status: int = 200
    problems: tuple[int, ...] = ()
    """Statuses of problems beside those that follow from the rest."""
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By the id of another operation: which of its parameters are which part of this answer."""
    name: str = ""
    """Its id; empty: the name of the function, in camelCase."""
    media: tuple[str, ...] = ("application/json",)
    """What the answer may be."""

    @property
    def id(self) -> str:
        first, *rest = self.handle.__name__.split("_")
        return self.name or first + "".join(map(str.capitalize, rest))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names in its path."""
        return tuple(_NAMES.findall(self.path))

    @property
    def is_repeatable(self) -> bool:
        """Whether it takes an `Idempotency-Key`."""
        return self.method == "POST"

    @property
    def refusals(self) -> tuple[int, ...]:
        """Every status of a problem that it can give."""
        found = {*ALWAYS, *self.problems}
        if f"/api{self.path}" not in OPEN:
            found |= {401, 429}
        if self.parameters:
            found.add(404)
        if self.body:
            found.add(415)
        if self.is_repeatable:
            found.add(422)
        return tuple(sorted(found))


def make_route(operation: Endpoint) -> Route:
    async def endpoint(request: Request) -> Response:
        async def answer() -> Response:
            return _build_response(
                operation, request, await operation.handle(await _read_request(operation, request))
            )

        if not operation.is_repeatable:
            return await answer()
        return await get_server_state(request).repeats.answer(request, await request.body(), answer)

    return Route(f"/api{operation.path}", endpoint, methods=[operation.method], name=operation.id)


async def _read_request(operation: Endpoint, request: Request) -> ApiRequest:
    query = parse_query(request, operation.query) if operation.query else None
    body = parse_body(await request.body(), operation.body) if operation.body else None
    return ApiRequest(get_server_state(request), request.path_params, query, body, request)


def _build_response(operation: Endpoint, request: Request, answer: Any) -> Response:
    if isinstance(answer, Response):
        return answer
    headers: dict[str, str] = {}
    if isinstance(answer, ResultPage):
        headers, answer = answer.headers(request.url), answer.rows
    return Response(msgspec.json.encode(answer), operation.status, headers, media_type="application/json")
