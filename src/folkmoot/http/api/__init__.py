"""The JSON API: every endpoint there is, made from operations or because only a server can do it."""

from __future__ import annotations

from folkmoot.http.api import project, stream
from folkmoot.http.api import runs as carried_on
from folkmoot.http.endpoint import Endpoint
from folkmoot.http.operations import make_endpoints
from folkmoot.operations import (
    agent_sessions,
    agents,
    conversations,
    decisions,
    events,
    inbox,
    plan_steps,
    runs,
    sinks,
    tasks,
    work_sessions,
)

OPERATIONS: tuple[Endpoint, ...] = (
    *project.OPERATIONS,
    *make_endpoints(agents.TEAM),
    *make_endpoints(runs.OPERATIONS),
    *carried_on.OPERATIONS,
    *make_endpoints(agent_sessions.OPERATIONS),
    *make_endpoints(events.OPERATIONS),
    *stream.OPERATIONS,
    *make_endpoints(agents.OPERATIONS),
    *make_endpoints(inbox.OPERATIONS),
    *make_endpoints(tasks.OPERATIONS),
    *make_endpoints(plan_steps.OPERATIONS),
    *make_endpoints(decisions.OPERATIONS),
    *make_endpoints(work_sessions.OPERATIONS),
    *make_endpoints(conversations.OPERATIONS),
    *make_endpoints(sinks.OPERATIONS),
)
