"""What can happen to the gate of a session while a run goes on."""

from __future__ import annotations

from folkmoot.domain.event import Event
from folkmoot.domain.sources import Sources


class GateChanged(Event):
    """Somebody took tools from a session, or gave them back."""

    type = "gate.changed"
    session: str
    gated: tuple[str, ...] = ()
    """Tools that are refused from here on, by their names on the wire."""
    freed: tuple[str, ...] = ()
    """Tools that are no longer refused."""
    by: str = ""
    reason: str = ""


class RecordSources(Event):
    """Whoever changed the record before this had read something: what the record says may be based on it."""

    type = "record.sources"
    sources: Sources
