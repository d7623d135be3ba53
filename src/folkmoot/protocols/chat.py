"""All paths below `/v1`, `/v1/models` among them."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from folkmoot.domain.agent import Agent
from folkmoot.http.problems import is_anthropic
from folkmoot.http.state import house_of
from folkmoot.protocols import chat_completions, messages, responses, wire


async def _models(request: Request) -> Response:
    known = wire.list_models(house_of(request).moot)
    if not is_anthropic(request.scope):
        return wire.json_response({"object": "list", "data": [_openai(*pair) for pair in known.items()]})
    names = [*known]
    return wire.json_response(
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
    return wire.json_response(form(name, wire.find_model(house_of(request).moot, name)))


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


CHAT_ROUTES = Mount(
    "/v1",
    routes=[
        Route("/models", _models),
        Route("/models/{model:path}", _model),
        *chat_completions.ROUTES,
        *responses.ROUTES,
        *messages.ROUTES,
    ],
)
