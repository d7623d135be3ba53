"""Who does something, by which way, and how that is known."""

from __future__ import annotations

import getpass
from typing import Literal

from msgspec.structs import replace

from folkmoot.coordination.record_store import (
    PERSON,
    RUNTIME,
    Author,
    calling,
)
from folkmoot.domain.agent import Graph
from folkmoot.domain.value import Value
from folkmoot.errors import BAD_VALUE, WrongUse
from folkmoot.ports import Site

Via = Literal["terminal", "http", "page", "tool"]


class Actor(Value):
    id: str
    """The id of an agent, or the name of a person: what is recorded."""
    kind: Literal["person", "agent"]
    via: Via
    proof: Literal["account", "name", "call"]
    """A person's account on this machine, a name that the request gives, or the call of a run."""
    id_seed: str = ""
    """Names what a person creates; an agent's call names it by itself."""
    call: Author = Author()

    def author(self, work_session: str = "") -> Author:
        """For the record."""
        author = self.call if self.kind == "agent" else Author(self.id)
        return replace(author, work_session=work_session) if work_session else author


def by_account(via: Via, id_seed: str = "") -> Actor:
    """Whoever runs this process."""
    return Actor(account_name(), "person", via, "account", id_seed)


def by_name(name: str, graph: Graph, via: Via, id_seed: str = "") -> Actor:
    """Whoever the request says. Nobody speaks for an agent, nor for the runtime."""
    if name in ("", RUNTIME):
        raise WrongUse(f"{name!r} is not the name of a person", code=BAD_VALUE)
    if any(name == agent.id for agent in graph.agents.values()):
        raise WrongUse(
            f"{name!r} is an agent, and speaks through its own calls; use another name", code=BAD_VALUE
        )
    return Actor(name, "person", via, "name", id_seed)


def by_call(site: Site) -> Actor:
    """The agent that makes a call."""
    return Actor(site.agent, "agent", "tool", "call", call=calling(site))


def account_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return PERSON
