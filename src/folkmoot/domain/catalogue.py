"""Every event there is, by its stored name."""

from __future__ import annotations

from folkmoot.domain import (
    call_events,
    chat_events,
    events,
    evidence_events,
    fork_events,
    gate_events,
    inbox_events,
    plan_events,
    task_events,
    team_events,
    watch_events,
)
from folkmoot.domain.event import Event

_FILES = (
    events,
    call_events,
    chat_events,
    evidence_events,
    fork_events,
    gate_events,
    inbox_events,
    plan_events,
    task_events,
    team_events,
    watch_events,
)

EVENTS: dict[str, type[Event]] = {
    event.type: event
    for file in _FILES
    for event in vars(file).values()
    if isinstance(event, type) and issubclass(event, Event) and event is not Event
}
