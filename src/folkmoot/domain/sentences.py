"""Every event as one sentence for people. `describe_event` is the only place where an event becomes words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from folkmoot.domain.call_events import HandoffRequested
from folkmoot.domain.entry import Event
from folkmoot.domain.events import (
    LlmRequest,
    LlmResponse,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.inbox_events import ApprovalApproved, ApprovalDenied
from folkmoot.domain.message import ToolCall
from folkmoot.domain.report import BROADCAST, FINAL_REPORT, ROUTE
from folkmoot.domain.team_events import TeamBroadcast
from folkmoot.domain.text import one_line
from folkmoot.domain.work_session import WorkSessionTeamFormed

_CUT = ("length", "max_tokens", "model_context_window_exceeded")
"""How providers say that a model reached the most output that it was allowed, or that it has room for."""
_TEXTS = ("title", "topic", "description", "message", "text", "goal", "option", "choice", "reason", "error")
"""Fields that say what an event without a sentence of its own is about."""
SENTENCES: Mapping[str, str] = {
    "run.started": "{agent} is asked: {event.request}",
    "run.completed": "{agent} has answered",
    "run.failed": "{agent} failed: {event.error}",
    "run.cancel_requested": "the run is being cancelled: {event.reason}",
    "run.cancelled": "{agent} is cancelled: {event.reason}",
    "run.parked": "{agent} waits",
    "run.forked": "forked from {event.source}, entry {event.at}",
    "run.repinned": "the run goes on with the files as they are now",
    "session.completed": "{agent} is done",
    "session.failed": "{agent} failed: {event.outcome.error}",
    "session.cancelled": "{agent} is cancelled: {event.reason}",
    "session.destroyed": "{agent} can no longer be asked: {event.reason}",
    "llm.request": "{agent} asks {event.model}, turn {event.turn}",
    "llm.response": "{agent} has an answer: {event.usage.tokens_in} tokens in, {event.usage.tokens_out} out",
    "llm.failed": "{agent} got no answer from {event.model}: {event.error}",
    "tool.started": "{agent} calls {event.tool}",
    "tool.finished": "{agent} has the result of {event.tool}",
    "tool.failed": "{agent} called {event.tool}: {event.text}",
    "tool.in_doubt": "{agent} called {event.tool}, and nobody knows whether it was done",
    "tool.settled": "{agent} is told what became of its call: {event.decision}",
    "approval.requested": "{agent} waits for somebody to approve {event.tool}: {event.id}",
    "approval.approved": "{agent} may make the call: {event.id}",
    "approval.denied": "{agent} may not make the call: {event.id}: {event.reason}",
    "approval.revoked": "{agent} may not make the call after all: {event.id}: {event.reason}",
    "approval.declined": "{event.by} does not approve the call of {agent}: {event.reason}",
    "approval.expired": "{agent} may not make the call: {event.id}: {event.reason}",
    "gate.changed": "{agent} may not use: {event.gated}; may use again: {event.freed}",
    "client.called": "{agent} waits for what {event.tool} of its caller gives: {event.id}",
    "client.answered": "{agent} gets the result of the caller's tool: {event.text}",
    "question.asked": "{agent} waits for an answer: {event.id}: {event.question}",
    "question.answered": "{agent} is answered: {event.text}",
    "router.selected": "{agent} routes to {event.agent}",
    "handoff.requested": "{event.sender} hands over to {event.receiver} ({event.kind})",
    "handoff.rejected": "{event.receiver} rejects the handoff: {event.error}",
    "budget.exceeded": "{agent} stops at a limit: {event.limit}",
    "system.error": "internal error: {event.error}",
    "cache.hit": "{agent} reuses an earlier result, of {event.session}",
    "result.summarized": "{agent} is summarised: {event.summary_length} of {event.length} characters",
    "claim.demoted": "{agent} claims what is not verified: {event.reason}",
    "parent.refused": "{agent} may not ask its caller: {event.error}",
    "clarification.refused": "{agent} may not ask {event.child}: {event.error}",
    "team.started": "{agent} starts its team",
    "team.broadcast": "{agent} broadcasts: {event.message}",
    "team.member_exited": "{agent} leaves the team",
    "plan.created": "{agent} makes a plan: {event.plan.goal}",
    "plan.submitted": "{agent} submits the plan",
    "plan.reviewed": "{agent} reviews the plan: {event.text}",
    "plan.approved": "{agent} approves the plan",
    "plan.rejected": "a plan is rejected: {event.problems[0]}",
    "plan.committed": "{agent} commits the plan",
    "plan.completed": "the plan is done",
    "step.started": "{owner} starts step {event.step}",
    "step.blocked": "{owner} is blocked on step {event.step}{because}",
    "step.resumed": "{owner} resumes step {event.step}{because}",
    "step.accepted": "{owner} takes over step {event.step}",
    "step.reassigned": "step {event.step} is reassigned from {event.sender} to {event.receiver}{because}",
    "step.reviewed": "{agent} reviews step {event.step}: {event.verdict}",
    "step.reopened": "{agent} reopens step {event.step}{because}",
    "step.completed": "{owner} completes step {event.step}",
    "snapshot.created": "a snapshot is saved: {event.reason}",
    "decision.proposed": "{agent} proposes a decision: {event.proposal.topic}",
    "decision.deliberated": "{agent} comments: {event.text}",
    "decision.voted": "{event.voter} votes {event.option}",
    "decision.escalated": "the votes do not decide ({event.reason}); the lead or a person must",
    "decision.committed": "decided: {event.summary}",
    "task.started": "{event.task.agent_id} gets a task: {event.task.description}",
    "task.completed": "the task is completed",
    "task.cancelled": "the task is cancelled",
    "task.blocked": "{agent} blocks its task",
    "work_session.opened": "{agent} opens the work session: {event.goal}",
    "work_session.changed": "{agent} sets the work session to {event.state}{because}",
    "work_session.completed": "{agent} completes the work session: {event.summary}",
    "work_session.paused": "{agent} pauses the work session{because}",
    "work_session.resumed": "{agent} resumes the work session",
    "work_session.labelled": "{agent} labels the work session {event.label}",
    "work_session.categorised": "{agent} sets the category to {event.category}",
    "work_session.summarised": "{agent} summarises the work session: {event.summary}",
    "work_session.artifact_added": "{agent} adds a {event.kind}: {event.title}",
    "work_session.refused": "{event.agent} is refused: {event.reason}",
}
"""By the type of an event. `owner` is who has a step, else the agent; `because` is the reason, if there is one."""
STARTS: Mapping[str, str] = {
    "": "{agent} starts",
    "advisor": "{agent} starts as an advisor",
    "route": "{agent} starts, chosen by the router",
    "handoff": "{agent} starts, to answer after the others",
    "sub": "{agent} starts, called as a tool",
    "clarify": "{agent} is asked again",
    "ask": "{agent} is asked by the agent it called",
    "member": "{agent} starts its turn as a member",
    "lead": "{agent} starts its turn as the lead",
    "planner": "{agent} makes a plan",
    "executor": "{agent} carries out its plan",
    "step": "{agent} does a step of its plan",
    "sense": "{agent} looks at the current state",
    "reflect": "{agent} reviews what it did",
}
"""Sessions, by why they run."""


def describe_event(event: Event, agent: str, *, content: bool = False, width: int = 0) -> str:
    """What `agent` did, or what happened to it. Without an agent, the predicate alone.

    `content`: with what models and tools said. `width`: in one line of at most so many characters.
    """
    told = f"{agent} {words}" if content and (words := _content(event)) else _told(event, agent)
    return one_line(told, width) if width else told.lstrip()


def _told(event: Event, agent: str) -> str:
    if isinstance(event, WorkSessionTeamFormed):
        members = ", ".join(f"{member.agent} ({member.role})" for member in event.team.members)
        return f"{agent} forms the team: {members}"
    if form := _sentence(event):
        reason = getattr(event, "reason", "")
        owner = getattr(event, "owner", "") or agent
        return form.format(agent=agent, owner=owner, event=event, because=f": {reason}" if reason else "")
    texts = (getattr(event, name, "") for name in _TEXTS)
    text = next((text for text in texts if isinstance(text, str) and text), "")
    name = event.type.replace(".", " ").replace("_", " ")
    return ": ".join(part for part in (agent, name, text) if part)


def missing_in(answer: LlmResponse) -> str:
    """What an answer lacks though it came: `cut off`, `empty`, or nothing that is known."""
    if answer.stop in _CUT:
        return "cut off"
    return "" if answer.message.text.strip() or answer.message.calls else "empty"


def _sentence(event: Event) -> str:
    match event:
        case SessionStarted(cause=cause):
            return STARTS[cause]
        case LlmRequest() if event.attempt > 1:
            return "{agent} asks again: {event.model}, attempt {event.attempt}"
        case LlmResponse() if lack := missing_in(event):
            return f"{{agent}} has an answer that is {lack}" + (" ({event.stop})" if event.stop else "")
        case TeamBroadcast(kind="failure"):
            return "{event.message}"
        case HandoffRequested(kind="chain"):
            return "{event.sender} hands over to {event.receiver}"
        case _:
            return SENTENCES.get(event.type, "")


def _content(event: Event) -> str:
    match event:
        case LlmResponse(message=message):
            return ", ".join(map(_wish, message.calls)) or f'says "{message.text}"'
        case ToolStarted(tool=tool, arguments=arguments):
            return f"calls {_call(tool, arguments)}"
        case ToolFinished(tool=tool, text=text) | ToolFailed(tool=tool, text=text):
            return f'reads from {tool}: "{text}"'
        case ApprovalApproved():
            return "may make the call"
        case ApprovalDenied(reason=reason):
            return f"may not make the call: {reason}"
        case _:
            return ""


def _wish(call: ToolCall) -> str:
    given = call.arguments
    match call.tool:
        case tool if tool == FINAL_REPORT:
            return f'reports "{given.get("report_content", given.get("content_json", ""))}"'
        case tool if tool == ROUTE:
            return f"chooses {given.get('agent')}"
        case tool if tool == BROADCAST:
            return f'broadcasts "{given.get("message")}"'
        case tool:
            return f"asks for {_call(tool, given)}"


def _call(tool: str, arguments: dict[str, Any]) -> str:
    return f"{tool}({', '.join(f'{name}={value}' for name, value in arguments.items())})"
