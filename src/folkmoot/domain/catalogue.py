"""Every event there is, by its stored name."""

from __future__ import annotations

from folkmoot.domain import (
    a2a_events,
    call_events,
    chat_events,
    collaboration_events,
    decision_events,
    events,
    evidence_events,
    fork_events,
    gate_events,
    inbox_events,
    memory_events,
    plan_events,
    sink_events,
    task_events,
    team_events,
    watch_events,
    work_session_events,
)
from folkmoot.domain.event import Event

_FILES = (
    events,
    a2a_events,
    call_events,
    chat_events,
    collaboration_events,
    decision_events,
    evidence_events,
    fork_events,
    gate_events,
    inbox_events,
    memory_events,
    plan_events,
    task_events,
    sink_events,
    team_events,
    watch_events,
    work_session_events,
)

EVENTS: dict[str, type[Event]] = {
    event.type: event
    for file in _FILES
    for event in vars(file).values()
    if isinstance(event, type) and issubclass(event, Event) and event.type
}
