"""Which operation of the API does what a command of the terminal does.

Those of `folkmoot.operations` say it themselves. What has none is in the table of docs/http.md, with its reason; a new
command belongs into one of the two.
"""

from folkmoot.operations import decisions, plan_steps, tasks
from folkmoot.operations.operation import id_of

GROUPS = {"tasks": tasks.OPERATIONS, "decisions": decisions.OPERATIONS, "plans": plan_steps.OPERATIONS}

SERVED: dict[str, tuple[str, ...]] = {
    **{
        f"{group} {operation.command}": (id_of(operation),)
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
    "team": ("teamState",),
    "runs list": ("listRuns",),
    "runs show": ("showRun",),
    "runs audit": ("auditRun",),
    "runs cancel": ("cancelRun",),
    "runs resume": ("resumeRun",),
    "runs replay": ("replayRun",),
    "runs diff": ("diffRuns",),
    "runs fork": ("forkRun",),
    "sessions list": ("listSessions", "liveSessions"),
    "sessions destroy": ("destroySession",),
    "sessions gate": ("gateSession",),
    "sessions ungate": ("ungateSession",),
    "sessions gates": ("listGates",),
    "sessions work": ("listWorkSessions",),
    "work list": ("listWorkSessions",),
    "work show": ("showWorkSession",),
    "work open": ("openWorkSession",),
    "work team": ("formTeam",),
    "work state": ("changeState",),
    "work pause": ("pauseWorkSession",),
    "work resume": ("resumeWorkSession",),
    "work cancel": ("cancelWorkSession",),
    "work complete": ("completeWorkSession",),
    "work category": ("categoriseWorkSession",),
    "work label": ("labelWorkSession",),
    "work add": ("addArtifact",),
    "work artifact": ("listArtifacts", "showArtifact"),
    "work timeline": ("workTimeline",),
    "conversations list": ("listConversations",),
    "conversations show": ("showConversation",),
    "inbox list": ("listInbox",),
    "inbox show": ("showItem",),
    "inbox answer": ("answerQuestion",),
    "inbox settle": ("settleCall",),
    "approvals list": ("listApprovals",),
    "approvals approve": ("approveCall",),
    "approvals deny": ("denyCall",),
    "approvals revoke": ("revokeApproval",),
    "plans run": ("runStep",),
    "agents list": ("listAgents",),
    "agents show": ("showAgent",),
    "config show": ("listSettings",),
    "log export": ("exportJournal", "exportRun"),
    "sinks list": ("listSinks",),
    "sinks move": ("moveSink",),
}
