"""What every event is, and why a session runs."""

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
