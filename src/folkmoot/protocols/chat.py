"""All paths below `/v1`, `/v1/models` among them, with errors in the form of the asking client's API."""

from __future__ import annotations

import logging
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from folkmoot.domain.agent import Agent
from folkmoot.errors import FolkmootError
from folkmoot.http import problems
from folkmoot.http.chat_errors import NO_RETRY, ChatError, as_chat_error, error_response, is_anthropic
from folkmoot.http.house import House, house_of
from folkmoot.protocols import chat_completions, messages, responses
from folkmoot.protocols.answered_runs import AnsweredRuns
from folkmoot.protocols.chat_request import find_model, json_response, list_models
from folkmoot.protocols.chat_runs import ClientGone

_log = logging.getLogger(__name__)


def chat_routes(house: House) -> Mount:
    app = Starlette(
        routes=[
            Route("/models", _models),
            Route("/models/{model:path}", _model),
            *chat_completions.ROUTES,
            *responses.ROUTES,
            *messages.ROUTES,
        ],
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


async def _models(request: Request) -> Response:
    known = list_models(house_of(request).moot)
    if not is_anthropic(request.scope):
        return json_response({"object": "list", "data": [_openai(*pair) for pair in known.items()]})
    names = [*known]
    return json_response(
        {
            "data": [_anthropic(*pair) for pair in known.items()],
            "has_more": False,  # a project has no more agents than fit on one page
            "first_id": names[0] if names else None,
            "last_id": names[-1] if names else None,
        }
    )


async def _model(request: Request) -> Response:
    name = request.path_params["model"]
    form = _anthropic if is_anthropic(request.scope) else _openai
    return json_response(form(name, find_model(house_of(request).moot, name)))


def _openai(name: str, agent: Agent) -> dict[str, Any]:
    """`created` is required by the form, and not recorded anywhere."""
    about = {"description": agent.description} if agent.description else {}
    return {"id": name, "object": "model", "created": 0, "owned_by": "folkmoot", **about}


def _anthropic(name: str, agent: Agent) -> dict[str, Any]:
    """`created_at` is required by the form, and not recorded anywhere."""
    return {
        "type": "model",
        "id": name,
        "display_name": f"{name}: {agent.description}" if agent.description else name,
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
    }
