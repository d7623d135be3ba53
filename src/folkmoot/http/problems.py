"""Errors as answers, never a traceback: problem details (RFC 9457), and the forms that the clients of OpenAI's and
Anthropic's APIs read."""

from __future__ import annotations

import http
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from folkmoot.errors import BAD_VALUE, Conflict, DeclarationError, FolkmootError, Held, NotFound, WrongUse
from folkmoot.site.remedies import STATUSES, address_for, topic_for

CHAT = "/v1/"
"""Below this path every answer, an error too, has the form of these clients."""
_ANTHROPIC = "/v1/messages"
_CHAT_ADDRESSES = "/v1/models, /v1/chat/completions, /v1/responses and /v1/messages"
SURPRISE = "something went wrong here; the log of the server says what"
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_ANTHROPIC_TYPES = {**_TYPES, 413: "request_too_large", 503: "overloaded_error"}
NO_RETRY = {"x-should-retry": "false"}
"""The official clients send a request again after a 409 or 5xx, which would run and pay for everything once more."""
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


class HttpError(FolkmootError):
    """The request itself is not let in; with the status that says why."""

    code = ""

    def __init__(
        self, status: int, detail: str, headers: Mapping[str, str] | None = None, *, code: str = ""
    ) -> None:
        self.status = status
        self.headers = dict(headers or {})
        super().__init__(detail, code=code)


@contextmanager
def as_bad_request() -> Iterator[None]:
    """What is refused in here is wrong in itself (400), not in the state of something (409)."""
    try:
        yield
    except WrongUse as error:
        if isinstance(error, NotFound):
            raise
        raise HttpError(400, str(error), code=error.code) from error


def problem_response(
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
        case HttpError(status=status):
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
    if request.url.path.startswith(CHAT):
        return chat_response(request.scope, as_chat_error(error))
    headers = error.headers if isinstance(error, HttpError) else None
    return problem_response(status_of(error), str(error), headers, error)


async def on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path, detail, headers = request.url.path, str(error.detail), error.headers
    if path.startswith(CHAT):
        detail = f"{request.method} {path}: {detail}; here are {_CHAT_ADDRESSES}"
        return chat_response(request.scope, ChatError(error.status_code, detail, headers=headers))
    if error.status_code == 404:
        where = "; /api/openapi.json lists all there is" if path.startswith("/api") else ""
        detail = f"there is nothing at {path}{where}"
    elif error.status_code == 405 and (methods := _allowed_methods(request)):
        detail, headers = f"{path} takes {methods}, not {request.method}", {"allow": methods}
    return problem_response(error.status_code, detail, headers)


def _allowed_methods(request: Request) -> str:
    """Of all routes at this address; Starlette names those of the first alone."""
    routes = (route for route in request.app.routes if isinstance(route, Route))
    here = (route for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    return ", ".join(sorted({method for route in here for method in route.methods or ()}))


async def on_disconnect(request: Request, error: Exception) -> Response:
    """Nobody is there to read it."""
    return problem_response(400, "the request did not come to its end")


async def on_unexpected_error(request: Request, error: Exception) -> Response:
    _log.exception("a request could not be answered: %s %s", request.method, request.url.path, exc_info=error)
    if request.url.path.startswith(CHAT):
        return chat_response(request.scope, ChatError(500, SURPRISE, headers=NO_RETRY))
    return problem_response(500, SURPRISE)


class ChatError(HttpError):
    """`param` names the wrong part of the request; `code` is a word that such clients know, or empty."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.param = param
        super().__init__(status, message, headers, code=code)


def as_chat_error(error: FolkmootError) -> ChatError:
    if isinstance(error, ChatError):
        return error
    headers = error.headers if isinstance(error, HttpError) else {}
    return ChatError(status_of(error), str(error), headers=headers)


def chat_response(scope: Scope, error: ChatError) -> Response:
    body = anthropic_error(error) if is_anthropic(scope) else openai_error(error)
    return Response(msgspec.json.encode(body), error.status, error.headers, media_type="application/json")


def is_anthropic(scope: Scope) -> bool:
    """Whether a client of Anthropic's API asks, not one of OpenAI's."""
    return scope["path"].startswith(_ANTHROPIC) or "anthropic-version" in Headers(scope=scope)


def openai_error(error: ChatError) -> dict[str, Any]:
    usual = "invalid_request_error" if error.status < 500 else "server_error"
    kind = _TYPES.get(error.status, usual)
    return {"error": {"message": str(error), "type": kind, "param": error.param, "code": error.code or None}}


def anthropic_error(error: ChatError) -> dict[str, Any]:
    usual = "invalid_request_error" if error.status < 500 else "api_error"
    kind = _ANTHROPIC_TYPES.get(error.status, usual)
    return {"type": "error", "error": {"type": kind, "message": str(error)}}
