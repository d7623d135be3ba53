"""Spans of a conversation that goes on, in a cycle, a clarification or an answer to a child; and of work in parts."""

from __future__ import annotations

_PARTS = ("planner", "try:", "executor", "step:", "round:", "sense", "reflect")


def without_cycle(span: str) -> str:
    """The place of the whole conversation: `0/member:coder` for `0/member:coder/cycle:2`."""
    above, _, last = span.rpartition("/")
    return above if last.startswith("cycle:") else span


def conversation(span: str) -> str:
    """The agent whose conversation it is: a lead speaks for its team, which has no session of its own, and who is
    asked again, or by its child, or plans and then acts, is no other agent."""
    above, _, last = span.rpartition("/")
    if last.startswith("ask:"):
        return caller(above)
    if last.startswith(("clarify:", *_PARTS)):
        return conversation(above)
    return without_cycle(span).removesuffix("/lead")


def caller(span: str) -> str:
    """The conversation that an agent was called from, as a tool or as an advisor."""
    above, _, last = span.rpartition("/")
    return conversation(span.rpartition("/turn:")[0] if last.startswith(("call:", "mission:")) else above)
