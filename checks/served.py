"""Which operation of the API does what a command of the terminal does.

Those of `folkmoot.operations` say it themselves. What has none is in the table of docs/http.md, with its reason; a new
command belongs into one of the two.
"""

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
from folkmoot.operations.operation import id_of

GROUPS = {
    "agents": agents.OPERATIONS[:2],
    "approvals": inbox.APPROVALS,
    "conversations": conversations.OPERATIONS,
    "decisions": decisions.OPERATIONS,
    "inbox": inbox.INBOX,
    "plans": plan_steps.OPERATIONS,
    "runs": runs.OPERATIONS,
    "sessions": agent_sessions.OPERATIONS,
    "sinks": sinks.OPERATIONS,
    "tasks": tasks.OPERATIONS,
    "work": work_sessions.OPERATIONS,
    "": (*agents.OPERATIONS[2:], *agents.TEAM, *events.OPERATIONS),
}

SERVED: dict[str, tuple[str, ...]] = {
    **{
        f"{group} {operation.command}".strip(): (id_of(operation),)
        for group, operations in GROUPS.items()
        for operation in operations
        if operation.command and operation.http
    },
    "check": ("listProblems",),
    "run": ("startRun",),
    "collaborate": ("collaborate", "showCollaboration", "resumeCollaboration"),
    "events": ("listEvents", "searchEvents"),
    "verify": ("verifyJournal", "verifyRun"),
    "explain": ("explainAgent", "judgeCall"),
    "graph": ("showGraph",),
    "runs resume": ("resumeRun",),
    "runs fork": ("forkRun",),
    "sessions list": ("listSessions", "liveSessions"),
    "sessions work": ("listWorkSessions",),
    "work artifact": ("listArtifacts", "showArtifact"),
    "plans run": ("runStep",),
    "config show": ("listSettings",),
    "log export": ("exportJournal", "exportRun"),
}
