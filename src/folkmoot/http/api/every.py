"""Every operation there is."""

from __future__ import annotations

from folkmoot.http.api import (
    agent_sessions,
    agents,
    artifacts,
    checking,
    collaborations,
    comparing,
    conversations,
    costs,
    events,
    explaining,
    inbox,
    plans,
    runs,
    settings,
    sinks,
    starting,
    status,
    stream,
    work_sessions,
)
from folkmoot.http.endpoint import Endpoint
from folkmoot.http.operations import make_endpoints
from folkmoot.operations import decisions, plan_steps, tasks
from folkmoot.operations import work_sessions as operations_on_work

OPERATIONS: tuple[Endpoint, ...] = (
    *status.OPERATIONS,
    *runs.OPERATIONS,
    *starting.OPERATIONS,
    *comparing.OPERATIONS,
    *checking.OPERATIONS,
    *agent_sessions.OPERATIONS,
    *events.OPERATIONS,
    *stream.OPERATIONS,
    *agents.OPERATIONS,
    *explaining.OPERATIONS,
    *inbox.OPERATIONS,
    *make_endpoints(tasks.OPERATIONS),
    *make_endpoints(plan_steps.OPERATIONS),
    *plans.OPERATIONS,
    *make_endpoints(decisions.OPERATIONS),
    *work_sessions.OPERATIONS,
    *make_endpoints(operations_on_work.OPERATIONS),
    *collaborations.OPERATIONS,
    *conversations.OPERATIONS,
    *costs.OPERATIONS,
    *artifacts.OPERATIONS,
    *sinks.OPERATIONS,
    *settings.OPERATIONS,
)
