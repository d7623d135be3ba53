"""What the row of a step says: why a session runs, who is waited for, and what happens without taking time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from folkmoot.domain.call_events import HandoffRequested
from folkmoot.domain.entry import Event
from folkmoot.domain.events import SessionStarted
from folkmoot.domain.team_events import TeamStarted
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
_INSTANTS: Mapping[str, tuple[Kind | Literal["fail"], str, str]] = {
    "router.selected": ("transfer", "route → {0.agent}", "{0.message}"),
    "handoff.requested": ("transfer", "handoff → {0.receiver}", "{0.reason} {0.subject}"),
    "team.broadcast": ("team", "broadcast", "{0.message}"),
    "budget.exceeded": ("fail", "limit", "{0.limit}"),
    "system.error": ("fail", "system error", "{0.error}"),
    "claim.demoted": ("fail", "claim not verified", "{0.reason}"),
    "run.cancel_requested": ("transfer", "cancel", "{0.reason}"),
    "run.forked": ("transfer", "fork", "of {0.source} at {0.at}"),
    "run.repinned": ("transfer", "current files", "the run goes on with the files as they are now"),
    "plan.created": ("team", "plan", "is made"),
    "plan.rejected": ("fail", "plan sent back", "{0.problems[0]}"),
    "step.started": ("team", "step {0.step}", "begins"),
    "step.completed": ("team", "step {0.step}", "is over"),
    "step.blocked": ("fail", "step {0.step}", "{0.reason}"),
    "decision.proposed": ("team", "put to the vote", "{0.proposal.topic}"),
    "decision.voted": ("team", "vote · {0.voter}", "{0.option}"),
    "decision.escalated": ("team", "the votes do not decide", "{0.reason}"),
    "decision.committed": ("team", "decided", "{0.summary}"),
}
_WAITS: Mapping[str, tuple[str, str]] = {
    "approval.requested": ("approval · {tool}", "waits for you"),
    "client.called": ("caller · {0.tool}", "waits for its caller"),
    "question.asked": ("question", "{0.question}"),
}
_ANSWERS: Mapping[str, tuple[str, str]] = {
    "approval.approved": ("approved by {by}", ""),
    "approval.denied": ("denied: {0.reason}", "denied"),
    "approval.revoked": ("denied: {0.reason}", "denied"),
    "approval.expired": ("{0.reason}", "nobody decided in time"),
    "question.answered": ("answered by {by}", ""),
    "client.answered": ("answered by {by}", ""),
}
"""What was answered, and what is said if nobody gave a reason."""


def started_by(event: SessionStarted | TeamStarted, caller: str) -> str:
    """Why a session runs, beside its agent's name."""
    if isinstance(event, TeamStarted):
        return f"team of {counted(len(event.members), 'member')}"
    return _STARTED[event.cause].format(by=caller or "the run")


def instant(event: Event) -> tuple[Kind | Literal["fail"], str, str] | None:
    """Kind, name and a few words of what happens without taking time; none for what has no row."""
    form = _INSTANTS.get(event.type)
    if form is None or (isinstance(event, HandoffRequested) and event.kind in ("route", "delegate")):
        return None  # a route has its own event, and what is delegated is a session
    kind, who, what = form
    return kind, who.format(event), what.format(event)


def wait_for(event: Event) -> tuple[str, str] | None:
    """Who is waited for, and for what; none if the event asks nobody."""
    if (form := _WAITS.get(event.type)) is None:
        return None
    tool = getattr(event, "tool", "").replace("__", ".")
    return form[0].format(event, tool=tool), form[1].format(event)


def answer_to(event: Event) -> str:
    """What was answered; empty if the event is no answer."""
    form, without_reason = _ANSWERS.get(event.type, ("", ""))
    if without_reason and not getattr(event, "reason", ""):
        return without_reason
    return form.format(event, by=getattr(event, "by", "") or "you")
