"""Which view an event is for. Pure, and conservative: what cannot be placed is no conversation."""

from __future__ import annotations

from typing import Literal

from folkmoot.domain.entry import Draft

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
