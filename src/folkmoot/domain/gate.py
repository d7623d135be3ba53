"""What the gate says to a call, and what it goes by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from folkmoot.domain.budget import Room
from folkmoot.domain.escalation import Escalation
from folkmoot.domain.message import Risk
from folkmoot.domain.rules import Caller, Rule
from folkmoot.domain.step_policy import Spent, StepPolicy
from folkmoot.domain.value import Value

Code = Literal[
    "",
    "too_many_calls",
    "not_offered",
    "schema",
    "gated",
    "no_task",
    "policy",
    "loop",
    "rate_limited",
    "budget",
    "denied",
    "approval_denied",
    "approval_expired",
]
"""Which stage refused a call."""
Approver = Literal["parent", "lead", "human"]
HUMAN: tuple[Approver, ...] = ("human",)


class GateSettings(Value, forbid_unknown_fields=True):
    taint: Literal["on", "off"] = "on"
    """After text from outside or of other agents came into a session, calls that do more than read need a word."""
    escalate: Escalation = Escalation()
    """Large changes and delicate paths that need a word."""


class Allow(Value):
    reason: str
    """Recorded with the call."""


class Ask(Value):
    """Somebody must say a word first."""

    risk: Risk
    why: str = ""
    """Beside that the tool itself wants it."""
    approvers: tuple[Approver, ...] = HUMAN
    """Asked in this order."""


class Refuse(Value):
    code: Code
    reason: str


Decision = Allow | Ask | Refuse


class Policy(Value):
    """What holds for all calls of a session, from the files and from those above it; it never changes."""

    caller: Caller = Caller(names=())
    rules: tuple[Rule, ...] = ()
    escalate: Escalation = Escalation()
    approvers: tuple[Approver, ...] = HUMAN
    """Without `parent` where there is none."""
    expires: float | None = None
    """Seconds that a call waits for a word; None: without end."""
    own: frozenset[str] = frozenset()
    """The runtime's own tools, which check their arguments themselves."""
    outside: frozenset[str] | None = frozenset()
    """Tools whose results are text of others; None: nothing taints."""
    taint: str = ""
    """Whose text the session began with."""
    planned: frozenset[str] = frozenset()
    """The calls that its plan names, by hash."""
    step: StepPolicy = StepPolicy()
    needs_task: bool = False
    """Calls that do more than read are made only by an agent that works on a task."""


class Standing(Value):
    """How things stand for a session when it wants to call; everything is folded from events."""

    gated: frozenset[str] = frozenset()
    taint: str = ""
    """Whose text its model had read when it asked for the call."""
    granted: Mapping[str, str] = {}
    """Calls that somebody allowed for the whole run: by hash, who did and under which id."""
    pace: Room = Room()
    """How many more calls the agent may make now."""
    loop: str = ""
    """What the loop guard says to the message that the call would send."""
    spent: Spent = Spent()
    has_task: bool = False
    """Whether its agent works on a task."""
    plan: StepPolicy = StepPolicy()
    """What it may do by a plan that it has submitted itself."""
