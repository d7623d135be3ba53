"""All paths below `/v1`, `/v1/models` among them."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from folkmoot.domain.agent import Agent
from folkmoot.http.problems import is_anthropic
from folkmoot.http.state import get_server_state
from folkmoot.protocols import chat_completions, messages, responses, wire


async def _list_models(request: Request) -> Response:
    known = wire.list_models(get_server_state(request).moot)
    if not is_anthropic(request.scope):
        return wire.json_response(
            {"object": "list", "data": [_to_openai_model(*pair) for pair in known.items()]}
        )
    names = [*known]
    return wire.json_response(
        {
            "data": [_to_anthropic_model(*pair) for pair in known.items()],
            "has_more": False,  # a project has no more agents than fit on one page
            "first_id": names[0] if names else None,
            "last_id": names[-1] if names else None,
        }
    )


async def _show_model(request: Request) -> Response:
    name = request.path_params["model"]
    form = _to_anthropic_model if is_anthropic(request.scope) else _to_openai_model
    return wire.json_response(form(name, wire.find_model(get_server_state(request).moot, name)))


def _to_openai_model(name: str, agent: Agent) -> dict[str, Any]:
    """`created` is required by the form, and not recorded anywhere."""
    about = {"description": agent.description} if agent.description else {}
    return {"id": name, "object": "model", "created": 0, "owned_by": "folkmoot", **about}


def _to_anthropic_model(name: str, agent: Agent) -> dict[str, Any]:
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
        Route("/models", _list_models),
        Route("/models/{model:path}", _show_model),
        *chat_completions.ROUTES,
        *responses.ROUTES,
        *messages.ROUTES,
    ],
)
