"""What may happen to a plan as a whole: draft, review, decision, commitment. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from folkmoot.coordination.plans.actor import PlanActor
from folkmoot.domain.entry import Event
from folkmoot.domain.plan import (
    Plan,
    PlanApproved,
    PlanCommitted,
    PlanProgress,
    PlanRejected,
    PlanReviewed,
    PlanRevised,
    PlanStatus,
    PlanSubmitted,
    Verdict,
)
from folkmoot.errors import BAD_VALUE, WrongUse

Events = Sequence[Event]
_REMEDIES: dict[PlanStatus, str] = {
    "draft": "it must be submitted first",
    "submitted": "it waits for a decision",
    "approved": "it is decided",
    "rejected": "its author may revise and submit it again",
    "committed": "it is being carried out",
    "done": "it is over",
}


def revise(plan: Plan, by: PlanActor, wanted: Plan, *, submitted: bool = False) -> Events:
    """Change a plan as long as nobody agreed to it; `submitted`: and have it decided at once."""
    must_be(plan, "revised", "draft", "submitted", "rejected")
    _must_be_author(plan, by)
    revised = replace(wanted, id=plan.id, author=plan.author)
    return [PlanRevised(revised), *([PlanSubmitted(plan.id)] if submitted else [])]


def review(plan: Plan, by: PlanActor, verdict: Verdict, text: str = "") -> Events:
    must_be(plan, "reviewed", "draft", "submitted")
    if by.name == plan.author:
        raise WrongUse(f"{by.name} made {plan.id}; somebody else must review it")
    if verdict == "change" and not text.strip():
        raise WrongUse("say in the review what should change", code=BAD_VALUE)
    return [PlanReviewed(plan.id, verdict, text)]


def submit(plan: Plan, by: PlanActor) -> Events:
    must_be(plan, "submitted", "draft", "rejected")
    _must_be_author(plan, by)
    return [PlanSubmitted(plan.id)]


def approve(plan: Plan, by: PlanActor, text: str = "", *, committed: bool = False) -> Events:
    """`committed`: and let it be carried out at once."""
    by.must_lead("approve a plan")
    must_be(plan, "approved", "submitted")
    commitment = commit(replace(plan, status="approved"), by) if committed else ()
    return [PlanApproved(plan.id, text), *commitment]


def reject(plan: Plan, by: PlanActor, reason: str) -> Events:
    by.must_lead("reject a plan")
    must_be(plan, "rejected", "submitted")
    if not reason.strip():
        raise WrongUse("a rejection needs a reason: its author reads it", code=BAD_VALUE)
    return [PlanRejected((reason,), plan.id)]


def commit(plan: Plan, by: PlanActor) -> Events:
    """From here on it is carried out, so each step must have an owner, and say when it counts as done."""
    by.must_lead("commit a plan")
    must_be(plan, "committed", "approved")
    lacking = [
        f"{step.id} has no {' and no '.join(missing)}"
        for step in plan.steps
        if (missing := [field for field in ("owner", "acceptance") if not getattr(step, field).strip()])
    ]
    if lacking:
        raise WrongUse(f"{plan.id} cannot be committed: step {'; step '.join(lacking)}")
    for step in plan.steps:
        by.must_know(step.owner)
    return [PlanCommitted(plan.id), PlanProgress(plan.id, plan.percent)]


def must_be(plan: Plan, deed: str, *states: PlanStatus) -> None:
    if plan.status not in states:
        wanted = " or ".join(states)
        remedy = _REMEDIES[plan.status]
        raise WrongUse(f"{plan.id} is {plan.status}: {remedy}; only a plan that is {wanted} can be {deed}")


def _must_be_author(plan: Plan, by: PlanActor) -> None:
    if by.role and by.name != plan.author:
        raise WrongUse(f"{plan.id} is {plan.author}'s; {by.name} may review it, or make another")
