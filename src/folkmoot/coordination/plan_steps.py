"""What may happen to a step of a committed plan, and who may let it happen. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from folkmoot.coordination.plans import Events, PlanActor, must_be
from folkmoot.domain.call_events import HandoffAccepted, HandoffCompleted, HandoffRequested
from folkmoot.domain.entry import Event
from folkmoot.domain.plan import (
    Plan,
    PlanCommitted,
    PlanCompleted,
    PlanProgress,
    PlanStep,
    StepAccepted,
    StepBlocked,
    StepCompleted,
    StepReassigned,
    StepReopened,
    StepResumed,
    StepReviewed,
    StepStarted,
    Verdict,
)
from folkmoot.domain.records import carried_on
from folkmoot.errors import BAD_VALUE, NotFound, WrongUse


def step_of(plan: Plan, id: str) -> PlanStep:
    for step in plan.steps:
        if step.id == id:
            return step
    known = ", ".join(step.id for step in plan.steps)
    raise NotFound(f"{plan.id} has no step {id!r}; it has {known}", code="step_not_found")


def start(plan: Plan, by: PlanActor, id: str) -> Events:
    step = _open(plan, id, "started")
    by.must_own(plan, step, "start")
    _must_be_accepted(plan, step)
    if step.begun_by:
        raise WrongUse(f"step {id} of {plan.id} is under way: {step.begun_by} works at it")
    return [StepStarted(plan.id, id, step.owner)]


def block(plan: Plan, by: PlanActor, id: str, reason: str, decision: str = "") -> Events:
    """`decision` is what must be decided before it goes on."""
    step = _open(plan, id, "blocked")
    by.must_own(plan, step, "block")
    _must_be_begun(plan, step)
    _must_not_be_blocked(plan, step)
    if not reason.strip():
        raise WrongUse("say what blocks the step", code=BAD_VALUE)
    return [StepBlocked(plan.id, id, step.owner, reason, decision)]


def resume(plan: Plan, by: PlanActor, id: str, reason: str = "") -> Events:
    step = _open(plan, id, "resumed")
    if not by.leads:
        by.must_own(plan, step, "resume")
    if not step.blocked:
        raise WrongUse(f"step {id} of {plan.id} is not blocked")
    return [StepResumed(plan.id, id, step.owner, reason)]


def reassign(plan: Plan, by: PlanActor, id: str, to: str, reason: str) -> Events:
    """The step passes on with all that was done of it; nobody works at it until its new owner accepts it."""
    step = _open(plan, id, "given to another")
    if not by.leads:
        by.must_own(plan, step, "pass on")
    by.must_know(to)
    if to == step.owner:
        raise WrongUse(f"step {id} of {plan.id} belongs to {to} already")
    if not reason.strip():
        raise WrongUse("say why another shall own the step: they read it", code=BAD_VALUE)
    return [
        StepReassigned(plan.id, id, step.owner, to, reason),
        HandoffRequested("ownership", step.owner, to, reason, subject=id),
    ]


def accept(plan: Plan, by: PlanActor, id: str) -> Events:
    step = _open(plan, id, "accepted")
    by.must_own(plan, step, "accept")
    if not step.handed_by:
        raise WrongUse(f"nobody passed step {id} of {plan.id} on to {step.owner}: there is nothing to accept")
    return [StepAccepted(plan.id, id, step.owner), HandoffAccepted("ownership", step.owner, subject=id)]


def complete(plan: Plan, by: PlanActor, id: str, note: str = "", *, skipped: bool = False) -> Events:
    """Say that a step is done, or will not be; with the last one the plan is done."""
    step = _open(plan, id, "completed")
    by.must_own(plan, step, "complete")
    if not skipped:
        _must_be_begun(plan, step)
        _must_not_be_blocked(plan, step)
    over = StepCompleted(plan.id, id, not skipped, note, step.owner)
    after = carried_on(plan, over)
    return [
        over,
        *([HandoffCompleted("ownership", step.owner, by.name, id)] if step.was_handed else []),
        PlanProgress(plan.id, after.percent),
        *([PlanCompleted(plan.id, success=True)] if after.percent == 100 else []),
    ]


def review(plan: Plan, by: PlanActor, id: str, verdict: Verdict, text: str = "") -> Events:
    """Hold what came of a step against its acceptance; with `change` it is reopened."""
    step = _over(plan, by, id, "reviewed")
    reviewed = StepReviewed(plan.id, id, step.owner, verdict, text)
    return [reviewed, *(reopen(plan, by, id, text) if verdict == "change" else ())]


def reopen(plan: Plan, by: PlanActor, id: str, reason: str) -> Events:
    step = _over(plan, by, id, "reopened")
    if not reason.strip():
        raise WrongUse("say why the step is reopened: its owner reads it", code=BAD_VALUE)
    opened = StepReopened(plan.id, id, step.owner, reason)
    again: Sequence[Event] = [PlanCommitted(plan.id)] if plan.status == "done" else []
    return [opened, *again, PlanProgress(plan.id, carried_on(plan, opened).percent)]


def _open(plan: Plan, id: str, deed: str) -> PlanStep:
    step = step_of(plan, id)
    must_be(plan, f"carried out, and step {id} {deed}", "committed")
    if step.is_over:
        raise WrongUse(f"step {id} of {plan.id} is {step.status}; reopen it first")
    return step


def _over(plan: Plan, by: PlanActor, id: str, deed: str) -> PlanStep:
    step = step_of(plan, id)
    must_be(plan, f"carried out, and step {id} {deed}", "committed", "done")
    if not step.is_over:
        raise WrongUse(f"step {id} of {plan.id} is {step.status}; only one that is over can be {deed}")
    if by.role not in ("", "lead", "reviewer") or (by.role and by.name == step.owner):
        raise WrongUse(f"a lead, a reviewer or a person looks a step over, never its owner; not {by.name}")
    return step


def _must_be_accepted(plan: Plan, step: PlanStep) -> None:
    if step.handed_by:
        raise WrongUse(
            f"{step.owner} has not accepted step {step.id} of {plan.id}, which {step.handed_by} passed on"
        )


def _must_be_begun(plan: Plan, step: PlanStep) -> None:
    _must_be_accepted(plan, step)
    if not step.begun_by:
        raise WrongUse(f"step {step.id} of {plan.id} is not under way; start it first")


def _must_not_be_blocked(plan: Plan, step: PlanStep) -> None:
    if step.blocked:
        raise WrongUse(f"step {step.id} of {plan.id} is blocked: {step.blocked}; resume it first")
