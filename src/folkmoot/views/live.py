"""Sessions of a run in a state of their own: finished ones that can still be asked, and those with a tool less."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from folkmoot.domain.call_events import ClarificationAnswered, SessionDestroyed, SessionFrozen
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RUN_ENDS
from folkmoot.domain.inbox_events import GateChanged
from folkmoot.domain.value import Value


class LiveChild(Value, omit_defaults=False):
    id: str
    """Of its session: the name under which it is asked and destroyed."""
    agent_id: str
    parent_id: str
    """The session that may ask it."""
    span: str
    turns_remaining: int
    clarifications: int = 0
    """How often it was asked so far."""


def live_children(drafts: Iterable[Draft]) -> list[LiveChild]:
    """In the order in which they were frozen; none once the run is over."""
    live: dict[str, LiveChild] = {}
    for draft in drafts:
        match draft.event:
            case SessionFrozen() as event:
                live[event.session] = LiveChild(
                    event.session, event.agent, event.parent, draft.span, event.turns_remaining
                )
            case ClarificationAnswered() as event if child := live.get(event.child):
                live[event.child] = replace(
                    child, turns_remaining=event.turns_remaining, clarifications=child.clarifications + 1
                )
            case SessionDestroyed() as event:
                live.pop(event.session, None)
            case event if isinstance(event, RUN_ENDS):
                live.clear()
    return list(live.values())


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
