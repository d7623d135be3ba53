"""What one step of a plan may do: which tools, with or without a word for each call, and how much. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Literal

from msgspec import Meta

from folkmoot.domain.budget import Duration
from folkmoot.domain.message import Access
from folkmoot.domain.naming import COORDINATION, MESSAGES, QUESTIONS, wire_glob
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
