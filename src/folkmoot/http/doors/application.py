"""All that lies below `/v1`, with errors in the form of whoever asks."""

from __future__ import annotations

import logging

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount

from folkmoot.errors import FolkmootError
from folkmoot.http import problems
from folkmoot.http.doors.anthropic_messages import ROUTES as MESSAGES
from folkmoot.http.doors.openai_chat import ROUTES as CHAT
from folkmoot.http.doors.openai_models import ROUTES as MODELS
from folkmoot.http.doors.openai_responses import ROUTES as RESPONSES
from folkmoot.http.doors.running import Gone
from folkmoot.http.doors.threads import Threads
from folkmoot.http.doors.wrong import NO_RETRY, Wrong, response, wrong
from folkmoot.http.house import House

_log = logging.getLogger(__name__)


def chat_doors(house: House) -> Mount:
    app = Starlette(
        routes=[*MODELS, *CHAT, *RESPONSES, *MESSAGES],
        exception_handlers={
            FolkmootError: _on_folkmoot_error,
            HTTPException: _on_http_error,
            ClientDisconnect: problems.on_disconnect,
            Gone: problems.on_disconnect,
            Exception: _on_surprise,
        },
    )
    app.state.house = house
    app.state.threads = Threads(house.moot)
    return Mount("/v1", app)


async def _on_folkmoot_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, FolkmootError)
    return response(request.scope, wrong(error))


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    about = f"{request.method} {request.url.path}: {error.detail}"
    return response(request.scope, Wrong(error.status_code, about, headers=error.headers))


async def _on_surprise(request: Request, error: Exception) -> Response:
    _log.exception("a request could not be answered: %s", request.url.path, exc_info=error)
    words = "something went wrong here; the log of the server says what"
    return response(request.scope, Wrong(500, words, headers=NO_RETRY))
