"""What an agent may do that has submitted a plan in its session: read until that is approved, then what it requested.

Pure: it goes by what the plan tools said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from folkmoot.domain.events import ToolFinished
from folkmoot.domain.message import ToolCall
from folkmoot.domain.step_policy import StepPolicy
from folkmoot.domain.value import Value

SUBMIT = "plan_submit"
ANYTHING, READING = StepPolicy(), StepPolicy(acting=())
_PLAN = re.compile(r"^(plan_\w+) \((\w+)\):", re.MULTILINE)
_REQUESTED = re.compile(r"^made by .*; tools beside reading ones: (.+)$", re.MULTILINE)
_AGREED = ("approved", "committed", "done")


class Submitted(Value):
    """The last plan that was submitted; the empty one: none was."""

    plan: str = ""
    requested: tuple[str, ...] = ()
    agreed: bool = False

    def policy(self, calls: Sequence[ToolCall]) -> StepPolicy:
        """`calls` are those of the answer that is looked at: one beside a submission comes too early."""
        if any(call.tool == SUBMIT for call in calls):
            return READING
        if not self.plan:
            return ANYTHING
        return StepPolicy(acting=self.requested) if self.agreed else READING


def submitted(before: Submitted, event: ToolFinished) -> Submitted:
    """After one more result of a tool for plans."""
    for plan, status in _PLAN.findall(event.text):
        if event.tool == SUBMIT:
            return Submitted(plan, _requested(event.text), status in _AGREED)
        if plan == before.plan:
            return Submitted(plan, before.requested, status in _AGREED)
    return before


def _requested(text: str) -> tuple[str, ...]:
    found = _REQUESTED.search(text)
    names = found[1].split(", ") if found else []
    return tuple(name for name in names if name != "none")
