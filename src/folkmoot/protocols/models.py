"""The agents of a project as the models that chat clients choose from, and `/v1/models`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.providers import BUILT_IN
from folkmoot.errors import WrongUse
from folkmoot.http.chat_errors import ChatError, is_anthropic
from folkmoot.http.house import house_of
from folkmoot.models.sight import sight_of
from folkmoot.orchestration.brought import facing
from folkmoot.protocols.conversation import Vision


def list_models(moot: Folkmoot) -> dict[str, Agent]:
    """By id, or by path where several agents have the same id."""
    agents = moot.graph.agents.values()
    shared = Counter(agent.id for agent in agents)
    return {agent.id if shared[agent.id] == 1 else agent.file.removesuffix(".ai"): agent for agent in agents}


def find_model(moot: Folkmoot, model: str) -> Agent:
    """An agent by its name as a model, or by its file. Raises `ChatError`."""
    known = list_models(moot)
    if agent := known.get(model):
        return agent
    try:
        return moot.agent(model)
    except WrongUse as error:
        words = f"there is no model {model!r}; the models here are the agents: {', '.join(known)}"
        raise ChatError(404, words, param="model", code="model_not_found") from error


def model_name(moot: Folkmoot, file: str) -> str:
    """Of an agent; its file, if it is not in the project any more."""
    return next((name for name, agent in list_models(moot).items() if agent.file == file), file)


def vision_of(moot: Folkmoot, agent: Agent) -> Vision:
    """Of all agents that may come to speak with the client: no images, if one of them surely takes none; files for half
    of the smallest context window."""
    agents = [*facing(moot.graph, agent)]
    windows = [choice.context_window for one in agents for choice in one.models]
    if not windows:
        return Vision()
    providers = {**BUILT_IN, **moot.graph.settings.providers}
    images: bool | None = True
    for one in agents:
        takes = [
            sight_of(providers[choice.provider]) if choice.provider in providers else None
            for choice in one.models
        ]
        if takes and all(sees is False for sees in takes):
            return Vision(False, min(windows) // 2)
        images = images if all(takes) else None
    return Vision(images, min(windows) // 2)


async def models(request: Request) -> Response:
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


async def model(request: Request) -> Response:
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


def json_response(document: Any) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json")


ROUTES = (Route("/models", models), Route("/models/{model:path}", model))
