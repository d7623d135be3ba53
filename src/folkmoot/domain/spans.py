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
        return conversation(above.rpartition("/turn:")[0])
    return conversation(above) if last.startswith("clarify:") else without_cycle(span).removesuffix("/lead")
