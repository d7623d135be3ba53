"""What all wires share: the names of agents, the lines of progress, pages of lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import TypeVar

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.entry import Entry
from folkmoot.domain.events import RUN_ENDS, RunParked
from folkmoot.domain.naming import wire_name
from folkmoot.errors import WrongUse

T = TypeVar("T")
RESTS = (*RUN_ENDS, RunParked)
"""After one of these nothing happens in a run by itself."""
MEDIA_TYPES = {"json": "application/json", "markdown": "text/markdown", "text": "text/plain"}
"""By the format of a report."""


def name_agents(
    agents: Collection[Agent], reserved: Collection[str] = (), spell: Callable[[str], str] = wire_name
) -> dict[str, Agent]:
    """Each agent by its id as a tool name, or by its path where several files share the id.

    Raises `WrongUse` for two that would get the same name, or one that is `reserved`.
    """
    shared = Counter(spell(agent.id) for agent in agents)
    names: dict[str, Agent] = {}
    for agent in agents:
        name = spell(agent.id)
        name = name if shared[name] == 1 else spell(agent.file.removesuffix(".ai"))
        other = name if name in reserved else names.setdefault(name, agent).file
        if other != agent.file:
            raise WrongUse(
                f"{agent.file} would be called {name!r}, as {other} is; rename it, or offer others with --agent"
            )
    return names


def describe_agent(agent: Agent) -> str:
    return "\n\n".join(filter(None, (agent.description, agent.usage)))


async def follow_run(moot: Folkmoot, run: str, after: int) -> AsyncIterator[Entry]:
    """What happens behind an entry of the journal, until the run ends or waits."""
    async for entry in moot.events(run, follow=True, after=after):
        yield entry
        if isinstance(entry.event, RESTS):
            return


def page_after(
    entries: Sequence[T], cursor: str | None, size: int, key: Callable[[T], str]
) -> tuple[list[T], str | None]:
    """The entries after the one that the cursor names, and the next cursor. Raises `KeyError` for an unknown cursor.

    The cursor is an entry, not a position: new entries come first in a list, and would shift positions.
    """
    start = 0
    if cursor is not None:
        places = {key(entry): place for place, entry in reversed([*enumerate(entries, start=1)])}
        start = places[cursor]
    page = list(entries[start : start + size])
    return page, key(page[-1]) if start + size < len(entries) else None
