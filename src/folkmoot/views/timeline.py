"""What happened in a run, in order: one line each, indented by who caused whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from folkmoot.domain.call_events import CacheHit, ResultSummarized
from folkmoot.domain.chat_events import ClarificationRefused, ParentRefused, SessionDestroyed
from folkmoot.domain.decision_events import (
    DecisionCommitted,
    DecisionDeliberated,
    DecisionEscalated,
    DecisionProposed,
    DecisionVoted,
)
from folkmoot.domain.entry import Draft
from folkmoot.domain.event import Event
from folkmoot.domain.events import (
    BudgetExceeded,
    CancelRequested,
    HandoffRequested,
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RouterSelected,
    SessionCancelled,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    SystemError,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.evidence_events import ClaimDemoted
from folkmoot.domain.fork_events import RunForked, RunRepinned
from folkmoot.domain.gate_events import GateChanged
from folkmoot.domain.inbox_events import (
    ApprovalApproved,
    ApprovalDeclined,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRequested,
    ApprovalRevoked,
    ClientAnswered,
    ClientCalled,
    QuestionAnswered,
    QuestionAsked,
    ToolSettled,
)
from folkmoot.domain.plan_events import PlanRejected, StepStarted
from folkmoot.domain.report import BROADCAST, ROUTE
from folkmoot.domain.team_events import TeamBroadcast, TeamMemberExited, TeamStarted
from folkmoot.views.lack import lacking

LINES: Mapping[type[Event], str] = {
    SessionCompleted: "{agent} is done",
    SessionFailed: "{agent} failed: {event.outcome.error}",
    SessionCancelled: "{agent} is cancelled: {event.reason}",
    RouterSelected: "{agent} routes to {event.agent}",
    TeamStarted: "{agent} gathers its team",
    TeamBroadcast: "{agent} broadcasts: {event.message}",
    TeamMemberExited: "{agent} leaves the team",
    PlanRejected: "a plan is sent back: {event.problems[0]}",
    StepStarted: "{agent} begins with step {event.step}",
    ToolStarted: "{agent} calls {event.tool}",
    ToolFailed: "{agent} called {event.tool}: {event.text}",
    ToolInDoubt: "{agent} called {event.tool}, and nobody knows whether it was done",
    ToolSettled: "{agent} is told what became of its call: {event.decision}",
    ApprovalRequested: "{agent} waits for somebody to approve {event.tool}: {event.id}",
    ApprovalApproved: "{agent} may make the call: {event.id}",
    ApprovalDenied: "{agent} may not make the call: {event.id}: {event.reason}",
    ApprovalRevoked: "{agent} may not make the call after all: {event.id}: {event.reason}",
    ApprovalDeclined: "{event.by} does not approve the call of {agent}: {event.reason}",
    GateChanged: "{agent} may not use: {event.gated}; may use again: {event.freed}",
    ApprovalExpired: "{agent} may not make the call: {event.id}: {event.reason}",
    ClientCalled: "{agent} waits for what {event.tool} of its caller gives: {event.id}",
    ClientAnswered: "{agent} is told what the caller's tool gave: {event.text}",
    QuestionAsked: "{agent} waits for an answer: {event.id}: {event.question}",
    QuestionAnswered: "{agent} is answered: {event.text}",
    DecisionProposed: "{agent} puts to the vote: {event.proposal.topic}",
    DecisionDeliberated: "{agent} says to it: {event.text}",
    DecisionVoted: "{event.voter} votes {event.option}",
    DecisionEscalated: "the votes do not decide ({event.reason}): the lead must, or a person",
    DecisionCommitted: "decided: {event.summary}",
    LlmFailed: "{agent} got no answer from {event.model}: {event.error}",
    CacheHit: "{agent} reads an earlier result again, of {event.session}",
    ResultSummarized: "{agent} is summarised: {event.summary_length} of {event.length} characters",
    ClaimDemoted: "{agent} claims what is not verified: {event.reason}",
    BudgetExceeded: "{agent} stops at a limit: {event.limit}",
    RunForked: "up to here it was taken over from {event.source}, entry {event.at}",
    RunRepinned: "the run goes on with the files as they are now",
    CancelRequested: "the run is being cancelled: {event.reason}",
    ParentRefused: "{agent} may not ask its caller: {event.error}",
    ClarificationRefused: "{agent} may not ask {event.child}: {event.error}",
    SystemError: "something broke: {event.error}",
}
DETAILS: Mapping[type[Event], str] = {
    LlmRequest: "{agent} asks {event.model}, turn {event.turn}",
    LlmResponse: "{agent} has an answer: {event.usage.tokens_in} tokens in, {event.usage.tokens_out} out",
    ToolFinished: "{agent} has the result of {event.tool}",
    SessionDestroyed: "{agent} can no longer be asked: {event.reason}",
}
"""What only those see who ask for it."""
_STARTS = {
    "": "{agent} starts",
    "advisor": "{agent} starts as an advisor",
    "route": "{agent} starts, chosen by the router",
    "handoff": "{agent} starts, to answer after the others",
    "sub": "{agent} starts, called as a tool",
    "clarify": "{agent} is asked again",
    "ask": "{agent} is asked by the agent it called",
    "member": "{agent} takes its part as a member",
    "lead": "{agent} takes its part as the lead",
    "planner": "{agent} makes a plan",
    "executor": "{agent} carries out its plan",
    "step": "{agent} does a step of its plan",
    "sense": "{agent} looks at what is there",
    "reflect": "{agent} looks back at what it did",
}


def timeline(drafts: Iterable[Draft], *, detailed: bool = False) -> Iterator[str]:
    for draft in drafts:
        if line := line_of(draft, detailed=detailed):
            yield line


def line_of(draft: Draft, *, detailed: bool = False) -> str:
    """One line for people; empty for what they need not see."""
    said = _form(draft.event) or (DETAILS.get(type(draft.event), "") if detailed else "")
    depth = _depth(draft.span) - isinstance(draft.event, HandoffRequested)
    return said and "  " * depth + said.format(agent=draft.agent_id, event=draft.event)


def _form(event: Event) -> str:
    match event:
        case SessionStarted(cause=cause):
            return _STARTS[cause]
        case SessionCompleted(outcome=outcome) if outcome.exit in (ROUTE, BROADCAST):
            return ""
        case TeamBroadcast(kind="failure"):
            return "{event.message}"
        case HandoffRequested(kind="chain"):
            return "{event.sender} hands over to {event.receiver}"
        case LlmRequest() | LlmResponse():
            return _model_form(event)
        case _:
            return LINES.get(type(event), "")


def _model_form(event: LlmRequest | LlmResponse) -> str:
    """Only what is out of the ordinary."""
    if isinstance(event, LlmRequest):
        return "{agent} asks again: {event.model}, attempt {event.attempt}" if event.attempt > 1 else ""
    lack = lacking(event)
    return lack and f"{{agent}} has an answer that is {lack}" + (" ({event.stop})" if event.stop else "")


def _depth(span: str) -> int:
    """How many agents stand above; `turn:3/call:2` is one step down, not two; so are `lead/cycle:2`, a mission
    and a message."""
    return sum(
        not step.startswith(("turn:", "cycle:", "mission:", "to:", "try:", "round:"))
        for step in span.split("/")[1:]
    )
