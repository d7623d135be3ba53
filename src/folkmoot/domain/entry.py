"""A line of the journal: an event with who, where and when; as a draft before it is written, as an entry after."""

from __future__ import annotations

from typing import ClassVar, Literal

from folkmoot.domain.value import Value

Cause = Literal[
    "",
    "advisor",
    "route",
    "handoff",
    "sub",
    "clarify",
    "ask",
    "member",
    "lead",
    "planner",
    "executor",
    "step",
    "sense",
    "reflect",
]
"""Why a session runs: empty for the root, otherwise the pattern that started it. The last five are `PARTS` of
an agent's own work: sessions of the same file."""

PARTS: tuple[Cause, ...] = ("planner", "executor", "step", "sense", "reflect")
AgentRole = Literal["", "PLANNER", "EXECUTOR"]
"""Which part a session has in a contract."""


def pattern(cause: str) -> str:
    """A cause as people read it, in the words of the agent files."""
    return "agent" if cause == "sub" else cause


class Event(Value):
    """Base of all events."""

    type: ClassVar[str] = ""
    version: ClassVar[int] = 1


class Draft(Value):
    """An event that its owner wants written."""

    ts: str
    """UTC, ISO 8601 with milliseconds and `Z`."""
    event: Event
    session_id: str = ""
    span: str = ""
    agent_id: str = ""
    work_session_id: str = ""
    conversation_id: str = ""
    epoch: int = 0
    """Under which claim of its run it was written, from the second on."""


class Entry(Value):
    """An event that is durable. `prev` is the id of the entry before it in its stream, `id` its own hash."""

    seq: int
    """Position in the whole journal; no smaller one ever becomes visible later."""
    run_seq: int
    """Position in its stream, dense from 1."""
    id: str
    prev: str
    stream: str
    """The run, work session or task it belongs to."""
    draft: Draft
    text: bytes = b""
    """The entry as it was written and hashed: its JSON without `seq`, `id` and `role`. Kept because an event may have
    been brought up to date since, which must change neither its hash nor its export. Empty in an entry that no
    journal wrote."""

    @property
    def event(self) -> Event:
        return self.draft.event


Role = Literal["conversation.main", "delegation.subagent", "orchestration.task", "system.observability"]

TASK_EVENTS = (
    "task.", "continuation.", "plan.", "step.", "unblock.", "resume_reminder.", "zombie.", "backlog.",
    "decision.", "work_session.", "snapshot.", "roster.",
)  # fmt: skip
DELEGATION_EVENTS = ("sub_agent.", "advisor.", "handoff.", "router.", "team.", "a2a.")
"""What the types of these begin with."""


def role(draft: Draft) -> Role:
    """One of the four roles of events."""
    return role_of(draft.event.type, draft.span, main=getattr(draft.event, "main", False))


def role_of(type: str, span: str, *, main: bool) -> Role:
    """`main`: between two main agents."""
    if type.startswith("a2a."):
        return "conversation.main" if main else "delegation.subagent"
    if type.startswith(TASK_EVENTS):
        return "orchestration.task"
    if type.startswith(DELEGATION_EVENTS) or "/" in span:
        return "delegation.subagent"
    return "system.observability"
