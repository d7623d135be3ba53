"""Spans of a conversation that goes on, in every cycle of a team and in every clarification; and of work in parts."""

from __future__ import annotations

_PARTS = ("planner", "try:", "executor", "step:", "round:", "sense", "reflect")


def without_cycle(span: str) -> str:
    """The place of the whole conversation: `0/member:coder` for `0/member:coder/cycle:2`."""
    above, _, last = span.rpartition("/")
    return above if last.startswith("cycle:") else span


def conversation(span: str) -> str:
    """The agent whose conversation it is: a lead speaks for its team, which has no session of its own, and who is
    asked again, or plans and then acts, is no other agent."""
    above, _, last = span.rpartition("/")
    if last.startswith(("clarify:", *_PARTS)):
        return conversation(above)
    return without_cycle(span).removesuffix("/lead")
