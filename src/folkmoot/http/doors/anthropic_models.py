"""The agents as models that Anthropic's clients may choose from, as `/v1/models` tells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from folkmoot.domain.agent import Agent


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
