"""Every operation there is."""

from __future__ import annotations

from folkmoot.http.api import (
    agent_sessions,
    agent_tasks,
    agents,
    artifacts,
    comparing,
    conversations,
    costs,
    decisions,
    events,
    inbox,
    plans,
    runs,
    sinks,
    starting,
    status,
    stream,
    tasks,
    work_control,
    work_sessions,
)
from folkmoot.http.operation import Operation

OPERATIONS: tuple[Operation, ...] = (
    *status.OPERATIONS,
    *runs.OPERATIONS,
    *starting.OPERATIONS,
    *comparing.OPERATIONS,
    *agent_sessions.OPERATIONS,
    *events.OPERATIONS,
    *stream.OPERATIONS,
    *agents.OPERATIONS,
    *agent_tasks.OPERATIONS,
    *inbox.OPERATIONS,
    *tasks.OPERATIONS,
    *plans.OPERATIONS,
    *decisions.OPERATIONS,
    *work_sessions.OPERATIONS,
    *work_control.OPERATIONS,
    *conversations.OPERATIONS,
    *costs.OPERATIONS,
    *artifacts.OPERATIONS,
    *sinks.OPERATIONS,
)
