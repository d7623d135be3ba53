"""`/v1/models`: the agents, as models that OpenAI's clients may choose from, and Anthropic's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.domain.agent import Agent
from folkmoot.http.doors.offers import offered, offers
from folkmoot.http.doors.wrong import is_anthropic
from folkmoot.http.house import house_of


async def models(request: Request) -> Response:
    found = offers(house_of(request).moot)
    if is_anthropic(request.scope):
        return _json(model_list(found))
    return _json({"object": "list", "data": [_model(name, agent) for name, agent in found.items()]})


async def model(request: Request) -> Response:
    name = request.path_params["model"]
    shown = model_info if is_anthropic(request.scope) else _model
    return _json(shown(name, offered(house_of(request).moot, name)))


def _model(name: str, agent: Agent) -> dict[str, Any]:
    """`created` is part of the form; when an agent was made is nowhere written."""
    about = {"description": agent.description} if agent.description else {}
    return {"id": name, "object": "model", "created": 0, "owned_by": "folkmoot", **about}


def _json(document: Any) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json")


ROUTES = (Route("/models", models), Route("/models/{model:path}", model))


def model_list(offered: Mapping[str, Agent]) -> dict[str, Any]:
    """All of them: a project has no more than fit on one page."""
    names = [*offered]
    return {
        "data": [model_info(name, agent) for name, agent in offered.items()],
        "has_more": False,
        "first_id": names[0] if names else None,
        "last_id": names[-1] if names else None,
    }


def model_info(name: str, agent: Agent) -> dict[str, Any]:
    """`created_at` is a part of the form; when an agent was made is nowhere written."""
    shown = f"{name}: {agent.description}" if agent.description else name
    return {
        "type": "model",
        "id": name,
        "display_name": shown,
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
    }
