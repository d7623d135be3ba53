"""The routes of this door: a list of agents, and for each of them its card and the place where it is asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from typing import Any

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH as CARD
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from folkmoot import __version__
from folkmoot.a2a_server.handling import Engine, Tasks
from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.engine.admission import offered

PATH = "/a2a"


def a2a_routes(moot: Folkmoot, engine: Engine, *, secured: bool) -> list[BaseRoute]:
    """Every agent of the project. `secured`: clients need a token, which whoever takes these routes in asks for."""
    logging.getLogger("a2a").setLevel(logging.CRITICAL)  # what is refused, the client is told
    offers = offered(moot.graph.agents.values())
    doors = {
        name: JsonRpcDispatcher(Tasks(moot, agent, engine), enable_v0_3_compat=True)
        for name, agent in offers.items()
    }

    async def agents(request: Request) -> Response:
        return JSONResponse(listed(offers, _base(request)))

    async def card(request: Request) -> Response:
        name = _named(request)
        made = card_of(name, offers[name], f"{_base(request)}/{name}", secured=secured)
        return JSONResponse(agent_card_to_dict(made))

    async def ask(request: Request) -> Response:
        return await _unless_gone(request, doors[_named(request)].handle_requests(request))

    def _named(request: Request) -> str:
        name: str = request.path_params["agent"]
        if name not in offers:
            raise HTTPException(404, f"there is no agent {name!r} here; {PATH} lists those that are")
        return name

    return [
        Route(PATH, agents),
        Route(f"{PATH}/{{agent}}{CARD}", card),
        Route(f"{PATH}/{{agent}}", ask, methods=["POST"]),
    ]


def _base(request: Request) -> str:
    """As the client reached it: the guard lets in no other names than those of this server."""
    return f"{str(request.base_url).rstrip('/')}{PATH}"


async def _unless_gone(request: Request, answering: Coroutine[Any, Any, Response]) -> Response:
    """Nobody waits for a run on behalf of a client that has gone; the run goes on."""
    await request.body()  # read before anything else looks at what the client does
    answer, gone = asyncio.ensure_future(answering), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else Response(status_code=204)
    finally:
        answer.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


_MODES = {"text": ["text/plain"], "markdown": ["text/markdown"], "json": ["application/json"]}
_BEARER = "bearer"


def card_of(name: str, agent: Agent, url: str, *, secured: bool) -> AgentCard:
    about = "\n\n".join(filter(None, (agent.description, agent.usage))) or f"The agent {agent.id}."
    card = AgentCard(
        name=agent.id,
        description=about,
        version=__version__,
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=version)
            for version in ("1.0", "0.3")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=_MODES[agent.input.format],
        default_output_modes=_MODES[agent.output.format],
        skills=[
            AgentSkill(id=name, name=agent.id, description=about, tags=agent.capabilities or [agent.role])
        ],
    )
    if secured:
        scheme = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))
        card.security_schemes[_BEARER].CopyFrom(scheme)
        card.security_requirements.append(SecurityRequirement(schemes={_BEARER: StringList()}))
    return card


def listed(offers: Mapping[str, Agent], base: str) -> dict[str, Any]:
    return {
        "agents": [
            {
                "name": name,
                "description": agent.description,
                "url": f"{base}/{name}",
                "card": f"{base}/{name}{CARD}",
            }
            for name, agent in offers.items()
        ]
    }
