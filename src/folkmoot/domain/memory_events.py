"""What can happen to the memory of an agent."""

from __future__ import annotations

from folkmoot.domain.event import Event


class MemoryNoted(Event):
    """An agent noted something for later runs."""

    type = "memory.noted"
    text: str
