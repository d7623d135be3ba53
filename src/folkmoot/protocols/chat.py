"""All paths below `/v1`, with errors in the form of the asking client's API."""

from __future__ import annotations

import logging

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount

from folkmoot.errors import FolkmootError
from folkmoot.http import problems
from folkmoot.http.chat_errors import NO_RETRY, ChatError, as_chat_error, error_response
from folkmoot.http.house import House
from folkmoot.protocols import chat_completions, messages, models, responses
from folkmoot.protocols.answered_runs import AnsweredRuns
from folkmoot.protocols.chat_runs import ClientGone

_log = logging.getLogger(__name__)


def chat_routes(house: House) -> Mount:
    app = Starlette(
        routes=[*models.ROUTES, *chat_completions.ROUTES, *responses.ROUTES, *messages.ROUTES],
        exception_handlers={
            FolkmootError: _on_folkmoot_error,
            HTTPException: _on_http_error,
            ClientDisconnect: problems.on_disconnect,
            ClientGone: problems.on_disconnect,
            Exception: _on_surprise,
        },
    )
    app.state.house = house
    app.state.answered = AnsweredRuns(house.moot)
    return Mount("/v1", app)


async def _on_folkmoot_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, FolkmootError)
    return error_response(request.scope, as_chat_error(error))


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    here = "/v1/models, /v1/chat/completions, /v1/responses and /v1/messages"
    about = f"{request.method} {request.url.path}: {error.detail}; here are {here}"
    return error_response(request.scope, ChatError(error.status_code, about, headers=error.headers))


async def _on_surprise(request: Request, error: Exception) -> Response:
    _log.exception("a request could not be answered: %s", request.url.path, exc_info=error)
    words = "something went wrong here; the log of the server says what"
    return error_response(request.scope, ChatError(500, words, headers=NO_RETRY))
