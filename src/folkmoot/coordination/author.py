"""Who changes a record, and where: a person, or an agent by a call in a run."""

from __future__ import annotations

from hashlib import sha256

from folkmoot.domain.sources import Sources
from folkmoot.domain.value import Value
from folkmoot.ports import Site

PERSON = "user"
RUNTIME = "folkmoot"


class Author(Value):
    name: str = PERSON
    """An agent's id, the name of a person, or `RUNTIME`."""
    session: str = ""
    span: str = ""
    """The call; empty for people. After a crash it is made again, and must not count twice."""
    work_session: str = ""
    sources: Sources = ()
    """What the author had read."""

    @property
    def is_agent(self) -> bool:
        return bool(self.span)

    def new_id(self, prefix: str, chance: str) -> str:
        """For what this author creates: by the name of the call, so that one made again finds what it created.

        Whoever makes no call brings a `chance`, drawn by the caller.
        """
        cause = f"{self.session} {self.span}" if self.span else chance
        return f"{prefix}{sha256(cause.encode()).hexdigest()[:20]}"


def calling(site: Site) -> Author:
    """The agent that made a call."""
    return Author(site.agent, site.session, site.below, site.work_session, site.sources)
