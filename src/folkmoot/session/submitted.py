"""The task an agent works on, and what it may do after it submitted a plan: read until that is approved, then what it
requested.

Pure: it goes by what the tools record of a task or a plan, and by the calls themselves. Whatever a plan says, its agent
may have made up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from folkmoot.domain.events import ToolFinished
from folkmoot.domain.gate import StepPolicy
from folkmoot.domain.message import ToolCall
from folkmoot.domain.naming import GROUPS
from folkmoot.domain.older_entries import plan_states, task_states
from folkmoot.domain.value import Value

SUBMIT = "plan_submit"
ANYTHING, READING = StepPolicy(), StepPolicy(acting=())
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
    plans = plan_states(event.text) if event.records is None else event.records
    for plan in plans:
        if event.tool == SUBMIT:
            return Submitted(plan.id, tuple(dict.fromkeys(_requested(call))), plan.status in _AGREED)
        if plan.id == before.plan:
            return Submitted(plan.id, before.requested, plan.status in _AGREED)
    return before


def _requested(call: ToolCall) -> Iterator[str]:
    """As a whole and for single steps, as in `Plan.requested`; the tool has taken the arguments, so they are sound."""
    yield from call.arguments.get("tools_requested") or ()
    for step in call.arguments.get("steps") or ():
        policy = step.get("tool_policy") if isinstance(step, dict) else None
        yield from (policy or {}).get("tools") or ()


def working_on(task: str, agent: str, event: ToolFinished) -> str:
    """The task after one more result; `task` is the one before, empty if there is none."""
    if event.tool not in GROUPS["tasks"]:
        return task
    for changed in task_states(event.text) if event.records is None else event.records:
        if changed.agent == agent and changed.status == "in_progress":
            return changed.id
        if changed.id == task:
            return ""
    return task
