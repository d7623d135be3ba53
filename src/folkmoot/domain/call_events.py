"""What can happen when agents consult, route to, hand over to, call and ask one another."""

from __future__ import annotations

from typing import Literal

from folkmoot.domain.entry import AgentRole, Event
from folkmoot.domain.sources import Sources


class AdvisorStarted(Event):
    """An agent consults another before its own session."""

    type = "advisor.started"
    advisor: str


class AdvisorCompleted(Event):
    """The advisor's report goes into its block."""

    type = "advisor.completed"
    advisor: str
    answered_by: str
    """The agent that really answered: an advisor may route or hand off."""


class AdvisorFailed(Event):
    """The advisor gave no report; a text that says so goes into its block."""

    type = "advisor.failed"
    advisor: str
    error: str


class RouterSelected(Event):
    """A router chose where the request goes."""

    type = "router.selected"
    agent: str
    message: str = ""


HandoffKind = Literal["chain", "route", "contract", "ownership", "delegate"]


class HandoffRequested(Event):
    """Something passes from one agent to another; recorded before the receiver starts."""

    type = "handoff.requested"
    kind: HandoffKind
    sender: str
    receiver: str
    reason: str = ""
    artifact_ids: tuple[str, ...] = ()
    """What passes over, by content hash."""
    agent_role: AgentRole = ""
    """The part that the receiver has in a contract."""
    subject: str = ""
    """What passes over, if it is no request: a step of a plan, such as `s2`."""


class HandoffAccepted(Event):
    """The receiver begins."""

    type = "handoff.accepted"
    kind: HandoffKind
    receiver: str
    subject: str = ""


class HandoffRejected(Event):
    """The receiver did not take it, or failed with it."""

    type = "handoff.rejected"
    kind: HandoffKind
    receiver: str
    error: str


class HandoffCompleted(Event):
    """The receiver, and whoever came after it, finished."""

    type = "handoff.completed"
    kind: HandoffKind
    receiver: str
    answered_by: str
    subject: str = ""


class SubAgentSpawned(Event):
    """An agent calls another as a tool."""

    type = "sub_agent.spawned"
    parent: str
    session: str
    specialist: str
    mission_length: int
    has_custom_definition: bool = False
    hierarchy_level: int = 1


class SubAgentExecuting(Event):
    """The called agent was admitted and begins with its mission."""

    type = "sub_agent.executing"
    session: str
    max_steps: int


class SubAgentCompleted(Event):
    """The called agent's result goes back to its caller."""

    type = "sub_agent.completed"
    session: str
    success: bool
    steps_taken: int = 0
    tool_calls: int = 0
    """Made by it and everyone below it, without calls of agents."""
    not_returned: tuple[str, ...] = ()
    """The agents below it that gave no result."""
    key: str = ""
    """What the result answers, if it may be reused: a hash over agent, mission, tools and model."""
    artifact: str = ""
    """The result as its caller read it, if it may be reused."""
    sources: Sources = ()
    """What it has read, if the result may be reused."""


class SubAgentFailed(Event):
    """The called agent gave no result; its caller reads why and goes on."""

    type = "sub_agent.failed"
    session: str
    error: str
    error_type: str = ""


class CacheHit(Event):
    """A call was answered with the result of an earlier one; nothing was started."""

    type = "cache.hit"
    span: str
    """Where the called agent would have run."""
    key: str
    session: str
    """The session whose result it is."""
    artifact: str
    steps_taken: int = 0
    tool_calls: int = 0
    not_returned: tuple[str, ...] = ()
    sources: Sources = ()
    """What that session had read."""


class ResultSummarized(Event):
    """The caller reads a summary of a long result; the whole is kept."""

    type = "result.summarized"
    session: str
    length: int
    summary_length: int
    artifact: str


class SessionFrozen(Event):
    """A finished session is kept, so that the session that caused it may ask it again."""

    type = "session.frozen"
    session: str
    agent: str
    parent: str
    """The session that may ask."""
    turns_remaining: int


class SessionDestroyed(Event):
    """A kept session is let go: nobody can ask it any more."""

    type = "session.destroyed"
    session: str
    reason: str
    by: Literal["", "run", "user"] = ""
    """Who let it go; empty in old journals."""


class ClarificationAsked(Event):
    """A kept session is asked again; its conversation goes on in a span of its own."""

    type = "clarification.asked"
    clarification: str
    """The session in which it is answered."""
    child: str
    """The kept session."""
    question: str


class ClarificationAnswered(Event):
    """The answer goes back to whoever asked, or the reason why there is none."""

    type = "clarification.answered"
    clarification: str
    child: str
    success: bool
    turns_remaining: int


class ClarificationRefused(Event):
    """The question was not passed on; whoever asked reads why."""

    type = "clarification.refused"
    turn: int
    call: int
    child: str
    """As it was named, by its session or its agent."""
    code: str
    error: str


class ParentAsked(Event):
    """An agent that was called asks its caller, whose conversation goes on for it in a span of its own."""

    type = "parent.asked"
    session: str
    """In which it is answered."""
    parent: str
    """The caller's session, which waits."""
    question: str


class ParentAnswered(Event):
    """The answer goes back to whoever asked, or the reason why there is none."""

    type = "parent.answered"
    session: str
    parent: str
    success: bool


class ParentRefused(Event):
    """The question was not passed on; whoever asked reads why."""

    type = "parent.refused"
    turn: int
    call: int
    code: str
    error: str
