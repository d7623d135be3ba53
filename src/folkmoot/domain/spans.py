"""Spans of a conversation that goes on: a member of a team, and its lead, have a new span in every cycle."""

from __future__ import annotations


def without_cycle(span: str) -> str:
    """The place of the whole conversation: `0/member:coder` for `0/member:coder/cycle:2`."""
    above, _, last = span.rpartition("/")
    return above if last.startswith("cycle:") else span


def conversation(span: str) -> str:
    """The agent whose conversation it is: a lead speaks for its team, which has no session of its own."""
    return without_cycle(span).removesuffix("/lead")
