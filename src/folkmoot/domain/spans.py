"""Spans: the place of something in a run, as a path of names such as `0/route:billing/turn:2/call:1`.

A span is stored as its text and compared as its text; only this module knows how one is put together and taken apart.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

ROOT = "0"  # of a run's first agent
CALLED = ("call", "mission", "to")
"""What a call started: one agent, one of several, or the receiver of a message."""
_CALL = re.compile(r"/(turn|clarify|ask):(\d+)(?:/call:|\.)(\d+)(/(?:mission|to):[^/]+)?$")
_PARTS = ("planner", "try", "executor", "step", "round", "sense", "reflect")


def child_span(span: str, kind: str, name: object = "") -> str:
    return f"{span}/{kind}:{name}" if name else f"{span}/{kind}"


def call_span(span: str, turn: int, call: int) -> str:
    """Of whatever a tool call starts."""
    return f"{span}/turn:{turn}/call:{call}"


def parent_span(span: str) -> str:
    return span.rpartition("/")[0]


def kind_of(span: str) -> str:
    """Of the last step: `call` for `0/turn:2/call:1`."""
    return span.rpartition("/")[2].partition(":")[0]


def is_within(span: str, outer: str) -> bool:
    """Whether it is this span or lies below it."""
    return span.startswith(outer) and (len(span) == len(outer) or span[len(outer)] == "/")


def steps_below(span: str, outer: str) -> list[tuple[str, str]]:
    """Kind and name of each step from a span down to one that lies within it."""
    steps = span[len(outer) :].split("/")[1:]
    return [(kind, name) for kind, _, name in (step.partition(":") for step in steps)]


@cache
def prefixes(span: str) -> tuple[str, ...]:
    """The span itself and all it lies in, outermost first."""
    parts = span.split("/")
    return tuple("/".join(parts[:end]) for end in range(1, len(parts) + 1))


class CallPlace(NamedTuple):
    turn: int
    call: int
    is_part: bool
    """Whether the call started several sessions, such as one per mission."""


@lru_cache(maxsize=4096)
def call_place(span: str) -> CallPlace | None:
    """The call that a session came of: it was called, asked again, or asked by the agent it called."""
    if found := _CALL.search(span):
        return CallPlace(int(found[2]), int(found[3]), bool(found[4]))
    return None


def calling_span(span: str) -> str:
    """Of the session that made the call below which a span lies."""
    return span.rpartition("/turn:")[0]


def call_depth(span: str) -> int:
    """How many agents called one another down to a span; messages are counted by their hops."""
    return span.count("/call:") - span.count("/to:")


def without_cycle(span: str) -> str:
    """The place of the whole conversation: `0/member:coder` for `0/member:coder/cycle:2`."""
    return parent_span(span) if kind_of(span) == "cycle" else span


@lru_cache(maxsize=4096)
def conversation(span: str) -> str:
    """The agent whose conversation it is: a lead speaks for its team, which has no session of its own, and who is
    asked again, or by its child, or plans and then acts, is no other agent."""
    kind, above = kind_of(span), parent_span(span)
    if kind == "ask":
        return caller(above)
    if kind == "clarify" or kind in _PARTS:
        return conversation(above)
    return without_cycle(span).removesuffix("/lead")


def caller(span: str) -> str:
    """The conversation that an agent was called from, as a tool or as an advisor."""
    return conversation(calling_span(span) if kind_of(span) in CALLED else parent_span(span))


def precedes(earlier: str, later: str) -> bool:
    """Whether all of one span was over before another began, whoever was quicker: it lies in an earlier turn."""
    for one, other in zip(in_order(earlier), in_order(later), strict=False):
        if one != other:
            return one[0] == other[0] and one[0] in ("turn", "cycle") and one[1] < other[1]
    return False


def in_order(span: str) -> list[tuple[str, int, str]]:
    """Sorts spans by their names, turn 9 before turn 10."""
    return [(kind, int(name) if name.isdigit() else 0, name) for kind, name in steps_below(f"/{span}", "")]


def run_of(session: str) -> str:
    """The run of a session: `run-1` for `run-1:sub_clerk_0123abcd`."""
    return session.partition(":")[0]


def agent_of(session: str) -> str:
    """The agent of a session that another one called: `clerk` in the example above."""
    return session.rpartition(":")[2].partition("_")[2].rpartition("_")[0]


def is_in_chain(span: str) -> bool:
    """Whether the request of the run went through this place: the root, and whoever it was routed or handed over to."""
    return all(kind in (ROOT, "route", "handoff") for kind, _ in steps_below(f"/{span}", ""))
