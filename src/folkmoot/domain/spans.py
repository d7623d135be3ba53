"""Spans of a conversation that goes on, in a cycle, a clarification or an answer to a child; and of work in parts."""

from __future__ import annotations

from functools import lru_cache

CALLED = ("call:", "mission:", "to:")
"""What a call started: one agent, one of several, or the receiver of a message."""
_PARTS = ("planner", "try:", "executor", "step:", "round:", "sense", "reflect")

ROOT = "0"
"""Of a run's first agent."""


def without_cycle(span: str) -> str:
    """The place of the whole conversation: `0/member:coder` for `0/member:coder/cycle:2`."""
    above, _, last = span.rpartition("/")
    return above if last.startswith("cycle:") else span


@lru_cache(maxsize=4096)
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
    return conversation(span.rpartition("/turn:")[0] if last.startswith(CALLED) else above)


def precedes(earlier: str, later: str) -> bool:
    """Whether all of one span was over before another began, whoever was quicker: it lies in an earlier turn."""
    for one, other in zip(earlier.split("/"), later.split("/"), strict=False):
        if one != other:
            (word, _, number), (same, _, greater) = one.partition(":"), other.partition(":")
            return word == same and word in ("turn", "cycle") and int(number) < int(greater)
    return False


def in_order(span: str) -> list[tuple[str, int, str]]:
    """Sorts spans by their names, turn 9 before turn 10."""
    parts = (part.partition(":")[::2] for part in span.split("/"))
    return [(word, int(name) if name.isdigit() else 0, name) for word, name in parts]


def is_in_chain(span: str) -> bool:
    """Whether the request of the run went through this place: the root, and whoever it was routed or handed over to."""
    return all(part.partition(":")[0] in (ROOT, "route", "handoff") for part in span.split("/"))
