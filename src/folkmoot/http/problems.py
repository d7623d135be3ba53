"""Errors as problem details (RFC 9457): what is wrong, for whom to mend, and never a traceback."""

from __future__ import annotations

import http
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from folkmoot.errors import BAD_VALUE, Conflict, DeclarationError, FolkmootError, Held, NotFound, WrongUse
from folkmoot.site.remedies import STATUSES, address_for, topic_for

_log = logging.getLogger(__name__)


class ProblemDetails(msgspec.Struct, omit_defaults=True):
    """What went wrong with a request."""

    title: str
    status: int
    code: str
    """What went wrong, for programs: `run_not_found`, `wrong_use`, …"""
    detail: str = ""
    type: str = ""
    """The page of this server that explains it, where there is one."""


class Refused(FolkmootError):
    """The request itself is not let in; with the status that says why."""

    code = ""

    def __init__(
        self, status: int, detail: str, headers: Mapping[str, str] | None = None, *, code: str = ""
    ) -> None:
        self.status = status
        self.headers = dict(headers or {})
        super().__init__(detail, code=code)


@contextmanager
def input_refused() -> Iterator[None]:
    """What is refused in here is wrong in itself (400), not in the state of something (409)."""
    try:
        yield
    except WrongUse as error:
        if isinstance(error, NotFound):
            raise
        raise Refused(400, str(error), code=error.code) from error


def response(
    status: int, detail: str, headers: Mapping[str, str] | None = None, error: FolkmootError | None = None
) -> Response:
    """With the code and the page of `error`; without one, those of the status."""
    meaning = http.HTTPStatus(status)
    code = (error.code if error else "") or meaning.name.lower()
    explained = address_for((topic_for(error) if error else "") or STATUSES.get(status, ""))
    body = msgspec.json.encode(ProblemDetails(meaning.phrase, status, code, detail, explained))
    return Response(body, status, headers, media_type="application/problem+json")


def status_of(error: FolkmootError) -> int:
    match error:
        case Refused(status=status):
            return status
        case NotFound():
            return 404
        case Held() | Conflict():
            return 409
        case WrongUse():
            return 400 if error.code == BAD_VALUE else 409
        case DeclarationError():
            return 422
        case _:
            return 503


async def on_folkmoot_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, FolkmootError)
    headers = error.headers if isinstance(error, Refused) else None
    return response(status_of(error), str(error), headers, error)


async def on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path, detail, headers = request.url.path, str(error.detail), error.headers
    if error.status_code == 404:
        where = "; /api/openapi.json lists all there is" if path.startswith("/api") else ""
        detail = f"there is nothing at {path}{where}"
    elif error.status_code == 405 and (methods := _methods(request)):
        detail, headers = f"{path} takes {methods}, not {request.method}", {"allow": methods}
    return response(error.status_code, detail, headers)


def _methods(request: Request) -> str:
    """Of all routes at this address; Starlette names those of the first alone."""
    routes = (route for route in request.app.routes if isinstance(route, Route))
    here = (route for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    return ", ".join(sorted({method for route in here for method in route.methods or ()}))


async def on_disconnect(request: Request, error: Exception) -> Response:
    """Nobody is there to read it."""
    return response(400, "the request did not come to its end")


async def on_surprise(request: Request, error: Exception) -> Response:
    _log.exception("a request could not be answered: %s %s", request.method, request.url.path, exc_info=error)
    return response(500, "something went wrong here; the log of the server says what")
