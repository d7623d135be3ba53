"""How a plan changes: folded from what happened to it. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from folkmoot.domain.event import Event
from folkmoot.domain.plan import Plan, StepStatus
from folkmoot.domain.plan_events import PlanCommitted, PlanCompleted, PlanUpdated, StepCompleted, StepStarted


def carried_on(plan: Plan, event: Event) -> Plan:
    """The plan after an event; one that concerns another plan changes nothing."""
    match event:
        case PlanCommitted(plan=id) if id == plan.id:
            return replace(plan, status="committed")
        case PlanUpdated(plan=id, steps=steps) if id == plan.id:
            return replace(plan, steps=steps)
        case StepStarted(plan=id, step=step) if id == plan.id:
            return _marked(plan, step, "in_progress")
        case StepCompleted(plan=id, step=step, success=success) if id == plan.id:
            return _marked(plan, step, "done" if success else "skipped")
        case PlanCompleted(plan=id, success=True) if id == plan.id:
            return replace(plan, status="done")
        case _:
            return plan


def _marked(plan: Plan, step: str, status: StepStatus) -> Plan:
    steps = tuple(replace(each, status=status) if each.id == step else each for each in plan.steps)
    return replace(plan, steps=steps)
