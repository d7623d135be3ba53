"""What an agent may do that has submitted a plan in its session: read until that is approved, then what it requested.

Pure: it goes by how the results of the plan tools begin, which the runtime writes, and by the calls themselves.
Whatever else stands in a plan, its agent may have made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from folkmoot.domain.events import ToolFinished
from folkmoot.domain.message import ToolCall
from folkmoot.domain.step_policy import StepPolicy
from folkmoot.domain.value import Value

SUBMIT = "plan_submit"
ANYTHING, READING = StepPolicy(), StepPolicy(acting=())
_PLAN = re.compile(r"(plan_\w+) \((\w+)\):")
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


def submitted(before: Submitted, event: ToolFinished, call: ToolCall) -> Submitted:
    """After one more result of a tool for plans."""
    begun = _PLAN.match(event.text)
    if not begun or (event.tool != SUBMIT and begun[1] != before.plan):
        return before
    requested = tuple(dict.fromkeys(_requested(call))) if event.tool == SUBMIT else before.requested
    return Submitted(begun[1], requested, begun[2] in _AGREED)


def _requested(call: ToolCall) -> Iterator[str]:
    """As a whole and for single steps, as in `Plan.requested`; the tool has taken the arguments, so they are sound."""
    yield from call.arguments.get("tools_requested") or ()
    for step in call.arguments.get("steps") or ():
        policy = step.get("tool_policy") if isinstance(step, dict) else None
        yield from (policy or {}).get("tools") or ()
