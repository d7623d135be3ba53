"""Which tools were taken from which sessions of a run."""

from __future__ import annotations

from collections.abc import Iterable

from folkmoot.domain.entry import Draft
from folkmoot.domain.gate_events import GateChanged
from folkmoot.domain.value import Value


class Gated(Value, omit_defaults=False):
    id: str
    """The session."""
    status: str
    agent_id: str
    tools: tuple[str, ...]
    """By their names on the wire."""


def gates(drafts: Iterable[Draft]) -> list[Gated]:
    """One row for each session that has a tool less."""
    agents: dict[str, str] = {}
    gated: dict[str, frozenset[str]] = {}
    for draft in drafts:
        if isinstance(event := draft.event, GateChanged):
            agents[event.session] = draft.agent_id
            before = gated.get(event.session, frozenset())
            gated[event.session] = (before | {*event.gated}) - {*event.freed}
    return [Gated(id, "gated", agents[id], tuple(sorted(tools))) for id, tools in gated.items() if tools]
