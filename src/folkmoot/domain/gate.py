"""What the gate says to a call, and what it goes by."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from msgspec import Meta

from folkmoot.domain.budget import Duration, Room
from folkmoot.domain.message import Access, Code, Grounds, Risk
from folkmoot.domain.naming import COORDINATION, MESSAGES, QUESTIONS, wire_glob
from folkmoot.domain.rules import Caller, Rule
from folkmoot.domain.sources import SECRET_PATHS, Escalation, Sources
from folkmoot.domain.value import Value

_ALWAYS = {*QUESTIONS, *COORDINATION} - {*MESSAGES}
"""With these an agent says how its step goes; without them nobody would learn of it."""


class StepBudget(Value, forbid_unknown_fields=True):
    """Absent means: only what lies around the step limits it."""

    time: Duration | None = None
    tokens: Annotated[int, Meta(gt=0)] | None = None
    files_changed: Annotated[int, Meta(ge=0)] | None = None


class StepPolicy(Value, forbid_unknown_fields=True):
    tools: tuple[str, ...] | None = None
    """Only tools that fit one of these; absent: no such limit."""
    approval: Literal["usual", "auto", "ask"] = "usual"
    """`auto`: a call that a tool itself would have asked about is made at once. `ask`: each call that does more than
    read asks."""
    budget: StepBudget = StepBudget()
    acting: tuple[str, ...] | None = None
    """Of those that do more than read, only what fits one of these: what the plan requested and somebody approved.
    Absent: no such limit."""

    def names(self, tool: str, access: Access = "read") -> bool:
        """Whether a tool, by its name on the wire and the most that it does, may be used."""
        requested = access == "read" or _fits(tool, self.acting)
        return tool in _ALWAYS or (requested and _fits(tool, self.tools))


def _fits(tool: str, patterns: tuple[str, ...] | None) -> bool:
    return patterns is None or any(fnmatchcase(tool, wire_glob(each)) for each in patterns)


class Spent(Value):
    """What a step has used up so far."""

    seconds: float = 0.0
    tokens: int = 0
    files: frozenset[str] = frozenset()


def exceeded(budget: StepBudget, spent: Spent, files: frozenset[str] = frozenset()) -> str:
    """The limit that stops a step which wants to change `files` next; empty if none does."""
    if budget.time is not None and spent.seconds >= budget.time:
        return f"the step has {budget.time:g} s, and they are over"
    if budget.tokens is not None and spent.tokens >= budget.tokens:
        return f"the step has {budget.tokens} tokens, and {spent.tokens} are spent"
    changed = len(spent.files | files)
    if budget.files_changed is not None and files and changed > budget.files_changed:
        return f"the step may change {budget.files_changed} files, and this would be file {changed}"
    return ""


Approver = Literal["parent", "lead", "human"]
HUMAN: tuple[Approver, ...] = ("human",)


class GateSettings(Value, forbid_unknown_fields=True):
    taint: Literal["on", "off"] = "on"
    """After a session has read untrusted text, calls that do more than read require approval."""
    escalate: Escalation = Escalation()
    """Large changes and delicate paths that need a word."""
    trusted: tuple[str, ...] = ()
    """Files of the project whose text is as good as the project's own, as globs; all others are untrusted."""
    secret: tuple[str, ...] = ()
    """Files, as globs, after whose reading every call that goes out requires approval; beside `.env*`, keys and the
    like."""
    untrusted_clients: bool = True
    """Whether strangers may have a say in what agents ask that come in over A2A."""
    ask: Literal["needed", "all"] = "needed"
    """`all`: every call that does more than read requires approval."""


class Allow(Value):
    reason: str
    """Recorded with the call."""
    grounds: Grounds = "allowed"


class Ask(Value):
    """Somebody must say a word first."""

    risk: Risk
    why: str = ""
    """Beside that the tool itself wants it."""
    approvers: tuple[Approver, ...] = HUMAN
    """Asked in this order."""
    sources: Sources = ()
    """What was read before, if it is asked for that."""


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
    untrusted: frozenset[str] = frozenset()
    """Tools whose results are text that nobody vouches for."""
    trusted: tuple[str, ...] = ()
    """Files whose text is vouched for although a tool reads it that is untrusted."""
    secret: tuple[str, ...] = SECRET_PATHS
    """Files whose text must not get out."""
    contains: bool = True
    """Whether what a session has read decides what it may do."""
    taint: Sources = ()
    """What the session began with."""
    recorded_first: bool = False
    """Of a run of 0.1.0, which knew a session's first source alone and recorded none."""
    ask_all: bool = False
    """Every call that does more than read requires approval."""
    planned: frozenset[str] = frozenset()
    """The calls that its plan names, by hash."""
    step: StepPolicy = StepPolicy()
    needs_task: bool = False
    """Calls that do more than read are made only by an agent that works on a task."""


class Standing(Value):
    """How things stand for a session when it wants to call; everything is folded from events."""

    gated: frozenset[str] = frozenset()
    taint: Sources = ()
    """What its model had read when it asked for the call."""
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
