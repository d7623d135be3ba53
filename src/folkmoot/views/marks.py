"""What happens in a run without taking time: routes, handoffs, broadcasts, plans, votes, limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from folkmoot.domain.decision_events import (
    DecisionCommitted,
    DecisionEscalated,
    DecisionProposed,
    DecisionVoted,
)
from folkmoot.domain.event import Event
from folkmoot.domain.events import (
    BudgetExceeded,
    CancelRequested,
    HandoffRequested,
    RouterSelected,
    SessionStarted,
    SystemError,
)
from folkmoot.domain.evidence_events import ClaimDemoted
from folkmoot.domain.fork_events import RunForked, RunRepinned
from folkmoot.domain.inbox_events import (
    ApprovalApproved,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRequested,
    ApprovalRevoked,
    ClientAnswered,
    ClientCalled,
    QuestionAnswered,
    QuestionAsked,
)
from folkmoot.domain.plan_events import (
    PlanCreated,
    PlanRejected,
    StepBlocked,
    StepCompleted,
    StepStarted,
)
from folkmoot.domain.team_events import TeamBroadcast, TeamStarted
from folkmoot.views.figures import counted
from folkmoot.views.run_nodes import Kind

_STARTED = {
    "": "",
    "advisor": "advisor",
    "route": "routed by {by}",
    "handoff": "handed off by {by}",
    "sub": "called by {by}",
    "clarify": "asked again by {by}",
    "ask": "asked by the agent it called",
    "member": "member",
    "lead": "lead",
    "planner": "makes the plan",
    "executor": "carries out the plan",
    "step": "a step of the plan",
    "sense": "looks at what is there",
    "reflect": "looks back",
}


def started_by(event: SessionStarted | TeamStarted, caller: str) -> str:
    """Why a session runs, beside its agent's name."""
    if isinstance(event, TeamStarted):
        return f"team of {counted(len(event.members), 'member')}"
    return _STARTED[event.cause].format(by=caller or "the run")


_MARKS: Mapping[type[Event], tuple[Kind | Literal["fail"], str, str]] = {
    RouterSelected: ("transfer", "route → {0.agent}", "{0.message}"),
    HandoffRequested: ("transfer", "handoff → {0.receiver}", "{0.reason} {0.subject}"),
    TeamBroadcast: ("team", "broadcast", "{0.message}"),
    BudgetExceeded: ("fail", "limit", "{0.limit}"),
    SystemError: ("fail", "system error", "{0.error}"),
    ClaimDemoted: ("fail", "claim not verified", "{0.reason}"),
    CancelRequested: ("transfer", "cancel", "{0.reason}"),
    RunForked: ("transfer", "fork", "of {0.source} at {0.at}"),
    RunRepinned: ("transfer", "current files", "the run goes on with the files as they are now"),
    PlanCreated: ("team", "plan", "is made"),
    PlanRejected: ("fail", "plan sent back", "{0.problems[0]}"),
    StepStarted: ("team", "step {0.step}", "begins"),
    StepCompleted: ("team", "step {0.step}", "is over"),
    StepBlocked: ("fail", "step {0.step}", "{0.reason}"),
    DecisionProposed: ("team", "put to the vote", "{0.proposal.topic}"),
    DecisionVoted: ("team", "vote · {0.voter}", "{0.option}"),
    DecisionEscalated: ("team", "the votes do not decide", "{0.reason}"),
    DecisionCommitted: ("team", "decided", "{0.summary}"),
}


def mark(event: Event) -> tuple[Kind | Literal["fail"], str, str] | None:
    """Its kind, its name and a few words; none for what has no row."""
    form = _MARKS.get(type(event))
    if form is None or (isinstance(event, HandoffRequested) and event.kind in ("route", "delegate")):
        return None  # a route has its own event, and what is delegated is a session
    kind, who, what = form
    return kind, who.format(event), what.format(event)


def wait_for(event: Event) -> tuple[str, str] | None:
    """Who is waited for, and for what; none if the event asks nobody."""
    match event:
        case ApprovalRequested(tool=tool):
            return f"approval · {tool.replace('__', '.')}", "waits for you"
        case ClientCalled(tool=tool):
            return f"caller · {tool}", "waits for its caller"
        case QuestionAsked(question=question):
            return "question", question
        case _:
            return None


def answer_to(event: Event) -> str:
    """What was answered; empty if the event is no answer."""
    match event:
        case ApprovalApproved(by=by):
            return f"approved by {by or 'you'}"
        case ApprovalDenied(reason=reason) | ApprovalRevoked(reason=reason):
            return f"denied: {reason}" if reason else "denied"
        case ApprovalExpired(reason=reason):
            return reason or "nobody decided in time"
        case QuestionAnswered(by=by) | ClientAnswered(by=by):
            return f"answered by {by or 'you'}"
        case _:
            return ""
