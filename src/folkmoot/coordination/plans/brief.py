"""A plan in words, for agents and for the terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from folkmoot.domain.duration import written
from folkmoot.domain.gate import StepPolicy
from folkmoot.domain.plan import Plan, PlanStep, Review


def brief(plan: Plan) -> str:
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    yield f"{plan.id} ({plan.status}): {plan.title or plan.goal}"
    if plan.goal != plan.title:
        yield f"goal: {plan.goal}"
    yield f"made by {plan.author}; tools beside reading ones: {', '.join(plan.requested) or 'none'}"
    yield from map(_review, plan.reviews)
    if plan.reject_reason:
        yield f"rejected by {plan.decided_by}: {plan.reject_reason}"
    elif plan.decided_by:
        yield f"approved by {plan.decided_by}"
    yield f"{plan.percent} % over:"
    for step in plan.steps:
        yield from _step(step)


def _step(step: PlanStep) -> Iterator[str]:
    owner = step.owner or "nobody yet"
    yield f"- {step.id} {step.status}, {owner}: {step.description or step.action_type}"
    if step.acceptance:
        yield f"  accepted when: {step.acceptance}"
    if may := _policy(step.tool_policy):
        yield f"  may: {may}"
    if step.handed_by:
        yield f"  passed on by {step.handed_by}; {step.owner} has not accepted it"
    if step.blocked:
        yield f"  blocked: {step.blocked}{f' ({step.decision})' if step.decision else ''}"
    if step.note:
        yield f"  came of it: {step.note}"
    yield from (f"  {_review(review)}" for review in step.reviews)


def _policy(policy: StepPolicy) -> str:
    budget = policy.budget
    words = (
        f"use {', '.join(policy.tools) or 'no tools'}" if policy.tools is not None else "",
        {"usual": "", "auto": "make calls without a word", "ask": "make calls that were approved"}[
            policy.approval
        ],
        f"take {written(budget.time)}" if budget.time else "",
        f"spend {budget.tokens} tokens" if budget.tokens else "",
        f"change {budget.files_changed} files" if budget.files_changed is not None else "",
    )
    return ", ".join(filter(None, words))


def _review(review: Review) -> str:
    verdict = "wants a change" if review.verdict == "change" else "accepts it"
    return f"{review.by} {verdict}{f': {review.text}' if review.text else ''}"
