"""What an agent says of itself to clients: its card, and the list of all cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

from folkmoot import __version__
from folkmoot.domain.agent import Agent

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
