"""Spans of a conversation that goes on: in each cycle of a team, clarification and answer to a child."""

from __future__ import annotations


def without_cycle(span: str) -> str:
    """The place of the whole conversation: `0/member:coder` for `0/member:coder/cycle:2`."""
    above, _, last = span.rpartition("/")
    return above if last.startswith("cycle:") else span


def conversation(span: str) -> str:
    """The agent whose conversation it is: a lead speaks for its team, which has no session of its own, and who is
    asked again, or by its child, is no other agent."""
    above, _, last = span.rpartition("/")
    if last.startswith("ask:"):
        return caller(above)
    return conversation(above) if last.startswith("clarify:") else without_cycle(span).removesuffix("/lead")


def caller(span: str) -> str:
    """The conversation that an agent was called from, as a tool or as an advisor."""
    above, _, last = span.rpartition("/")
    return conversation(span.rpartition("/turn:")[0] if last.startswith(("call:", "mission:")) else above)
