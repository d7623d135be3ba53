"""What a plan is now: folded from its stream, with who did what when. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from folkmoot.domain.entry import Draft
from folkmoot.domain.plan import Plan, Review
from folkmoot.domain.plan_events import (
    PlanApproved,
    PlanCreated,
    PlanRejected,
    PlanReviewed,
    PlanRevised,
    PlanSubmitted,
    StepReviewed,
)
from folkmoot.domain.planning import carried_on
from folkmoot.domain.reference import Kind


def evolved(plan: Plan | None, draft: Draft) -> Plan:
    match draft.event:
        case PlanCreated(plan=made):
            return replace(made, created_at=draft.ts)
        case event if plan is None:
            raise ValueError(f"a plan begins with plan.created, not with {event.type}")
        case PlanRevised(plan=wanted):
            return replace(wanted, created_at=plan.created_at, reviews=plan.reviews)
        case StepReviewed(step=id, verdict=verdict, text=text):
            review = Review(draft.agent_id, verdict, text, draft.ts, draft.span)
            steps = (
                replace(step, reviews=(*step.reviews, review)) if step.id == id else step
                for step in plan.steps
            )
            return replace(plan, steps=tuple(steps))
        case _:
            return _judged(plan, draft)


def _judged(plan: Plan, draft: Draft) -> Plan:
    by, at = draft.agent_id, draft.ts
    match draft.event:
        case PlanReviewed(verdict=verdict, text=text):
            return replace(plan, reviews=(*plan.reviews, Review(by, verdict, text, at, draft.span)))
        case PlanSubmitted():
            return replace(
                plan, status="submitted", submitted_at=at, decided_by="", decided_at="", reject_reason=""
            )
        case PlanApproved():
            return replace(plan, status="approved", decided_by=by, decided_at=at)
        case PlanRejected(problems=(reason, *_)):
            return replace(plan, status="rejected", decided_by=by, decided_at=at, reject_reason=reason)
        case event:
            return carried_on(plan, event)


PLAN: Kind[Plan] = Kind("plan", "plan_", "folkmoot plans list", evolved)
