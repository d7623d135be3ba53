"""The agents of a project by the names under which the doors for programs offer them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from folkmoot.domain.agent import Agent
from folkmoot.domain.naming import wire_name
from folkmoot.errors import WrongUse


def offered(agents: Collection[Agent], reserved: Collection[str] = ()) -> dict[str, Agent]:
    """Each by its id; an id that several files share is not enough to tell them apart: those go by their paths.

    Raises `WrongUse` for two that would be called the same, or as what is `reserved`.
    """
    shared = Counter(wire_name(agent.id) for agent in agents)
    offers: dict[str, Agent] = {}
    for agent in agents:
        name = wire_name(agent.id)
        name = name if shared[name] == 1 else wire_name(agent.file.removesuffix(".ai"))
        other = name if name in reserved else offers.setdefault(name, agent).file
        if other != agent.file:
            raise WrongUse(
                f"{agent.file} would be called {name!r}, as {other} is; rename it, or offer others with --agent"
            )
    return offers
