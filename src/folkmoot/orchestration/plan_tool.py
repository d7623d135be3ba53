"""`plan__update`: whoever works by a plan says where it stands, or changes what is left of it."""

from __future__ import annotations

from functools import reduce
from typing import Literal

from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.domain.plan import (
    PLAN_STEPS,
    Plan,
    PlanCreated,
    PlanStep,
    PlanUpdated,
    StepCompleted,
    StepStarted,
)
from folkmoot.domain.records import carried_on
from folkmoot.domain.spans import child_span, parent_span
from folkmoot.domain.value import Value
from folkmoot.orchestration.invocation import Invocation, Run
from folkmoot.orchestration.question import read_call
from folkmoot.session.exits import runtime_tool

_FURTHER = "Further steps, in a sentence each."
PLAN_UPDATE = runtime_tool(
    "plan__update",
    "Say that a step of your plan begins, is done or is skipped, or add steps; you read where it stands.",
    {
        "step": {"type": "string", "description": "The id of a step, such as s1."},
        "status": {"type": "string", "enum": ["in_progress", "done", "skipped"]},
        "note": {"type": "string", "description": "What came of it, or why it is skipped."},
        "add": {"type": "array", "items": {"type": "string"}, "description": _FURTHER},
    },
)


class _Update(Value, forbid_unknown_fields=True):
    step: str = ""
    status: Literal["in_progress", "done", "skipped"] = "done"
    note: str = ""
    add: tuple[str, ...] = ()


def update_plan(run: Run, inv: Invocation, call: ToolCall) -> ToolResult:
    asked = read_call(call, _Update)
    if isinstance(asked, ToolResult):
        return asked
    plan = plan_at(run, parent_span(inv.span))
    if asked.step and asked.step not in (step.id for step in plan.steps):
        known = ", ".join(step.id for step in plan.steps)
        return ToolResult(text=f"there is no step {asked.step!r}; there are {known}", failed=True)
    if len(plan.steps) + len(asked.add) > PLAN_STEPS:
        return ToolResult(text=f"a plan has at most {PLAN_STEPS} steps", failed=True)
    _record(run, inv, plan, asked)
    stands = plan_at(run, parent_span(inv.span))
    lines = (f"{step.id} {step.status}: {step.description or step.action_type}" for step in stands.steps)
    return ToolResult(text="\n".join(lines))


def plan_at(run: Run, span: str) -> Plan:
    """The plan that was made for the agent at this place, as it stands now."""
    made = next(event.plan for event in run.log.of(span) if isinstance(event, PlanCreated))
    return reduce(carried_on, run.log.of(child_span(span, "executor")), made)


def _record(run: Run, inv: Invocation, plan: Plan, asked: _Update) -> None:
    if asked.step and asked.status == "in_progress":
        run.log.once(inv.place, StepStarted(plan=plan.id, step=asked.step))
    elif asked.step:
        done = StepCompleted(plan.id, asked.step, success=asked.status == "done", note=asked.note)
        run.log.once(inv.place, done)
    known = {step.description for step in plan.steps}
    added = tuple(
        _further(text, number)
        for number, text in enumerate((text for text in asked.add if text not in known), len(plan.steps) + 1)
    )
    if added:
        run.log.once(inv.place, PlanUpdated(plan.id, (*plan.steps, *added), asked.note))


def _further(text: str, number: int) -> PlanStep:
    return PlanStep(
        action_type="STEP",
        rationale="added while the plan was carried out",
        expected_outputs=(),
        stop_condition="",
        description=text,
        id=f"s{number}",
        order=number,
    )
