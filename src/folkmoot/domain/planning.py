"""How a plan changes: folded from what happened to it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from folkmoot.domain.event import Event
from folkmoot.domain.plan import Plan, PlanStep
from folkmoot.domain.plan_events import (
    PlanCommitted,
    PlanCompleted,
    PlanUpdated,
    StepAccepted,
    StepBlocked,
    StepCompleted,
    StepReassigned,
    StepReopened,
    StepResumed,
    StepStarted,
)

_PLAN: dict[type[Event], Callable[[Plan, Any], Plan]] = {
    PlanCommitted: lambda plan, _: replace(plan, status="committed"),
    PlanUpdated: lambda plan, event: replace(plan, steps=event.steps),
    PlanCompleted: lambda plan, event: replace(plan, status="done") if event.success else plan,
}
_STEP: dict[type[Event], Callable[[PlanStep, Any], PlanStep]] = {
    StepStarted: lambda step, event: replace(step, status="in_progress", begun_by=event.owner),
    StepBlocked: lambda step, event: replace(step, blocked=event.reason, decision=event.decision),
    StepResumed: lambda step, event: replace(step, blocked="", decision="", reason=event.reason),
    StepReassigned: lambda step, event: replace(
        step,
        owner=event.receiver,
        handed_by=event.sender,
        was_handed=True,
        begun_by="",
        reason=event.reason,
    ),
    StepAccepted: lambda step, _: replace(step, handed_by=""),
    StepCompleted: lambda step, event: replace(
        step,
        status="done" if event.success else "skipped",
        note=event.note or step.note,
        begun_by="",
        was_handed=False,
        reason="",
    ),
    StepReopened: lambda step, _: replace(step, status="in_progress"),
}


def carried_on(plan: Plan, event: Event) -> Plan:
    """The plan after an event; one that concerns another plan changes nothing."""
    if getattr(event, "plan", "") != plan.id:
        return plan
    if change := _PLAN.get(type(event)):
        return change(plan, event)
    if mark := _STEP.get(type(event)):
        steps = (mark(step, event) if step.id == getattr(event, "step", "") else step for step in plan.steps)
        return replace(plan, steps=tuple(steps))
    return plan
