"""What is checked, and what was found to be wrong."""

from __future__ import annotations

from typing import Literal, Protocol

from folkmoot.domain.entry import Draft
from folkmoot.domain.event import Event
from folkmoot.domain.value import Value

Guarantee = Literal["C1", "C2", "C3", "C4", "C5", "C6", "C7"]

TITLES: dict[Guarantee, str] = {
    "C1": "durability",
    "C2": "order",
    "C3": "effects",
    "C4": "replay",
    "C5": "stop",
    "C6": "bounds",
    "C7": "gate",
}


class Fault(Value, omit_defaults=False):
    """One place at which a guarantee does not hold."""

    guarantee: Guarantee
    run_id: str
    run_seq: int
    seq: int
    id: str
    """The id of the entry; empty where there is none to name."""
    words: str


class Fold(Protocol):
    """Checks one guarantee over the events of one run, in order."""

    guarantee: Guarantee
    takes: tuple[type[Event], ...]
    """The events that it looks at; the others are not shown to it."""

    def take(self, draft: Draft) -> str:
        """What is wrong with this event after all those before it; empty if nothing is."""


Place = tuple[str, int, int]
"""A tool call: its span, its turn, its position in the answer."""
