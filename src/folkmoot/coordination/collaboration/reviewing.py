"""What came of the steps is held against their acceptance; what falls short is reopened; then the work is wrapped up.
Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from folkmoot.coordination.collaboration import prompts
from folkmoot.coordination.collaboration.moves import AskMove, Become, Complete, Move, ReviewStepMove, Wait
from folkmoot.coordination.collaboration.scene import Scene, reopened
from folkmoot.domain.plan import Plan, PlanStep

ROUNDS = 3
"""Of a review in which something is reopened; then a person must look."""
_LINE = re.compile(
    r"^[ \t*-]*(?P<step>s\d+)[ \t:*-]+(?P<verdict>accept|reopen)\w*[ \t:,.;-]*(?P<text>.*)$",
    re.IGNORECASE | re.MULTILINE,
)


def reviewing(scene: Scene) -> Sequence[Move]:
    plan = scene.plan
    if plan is None:
        return [Become("Error", "its plan is gone")]
    if again := next((step for step in plan.steps if not step.is_over), None):
        return [Become("Executing", f"step {again.id} was reopened")]
    to_do = [step for step in plan.steps if not _looked_over(step)]
    if to_do:
        return _review(scene, plan, to_do)
    summary = scene.answered("summary")
    if summary is None:
        blocks = (prompts.task(prompts.SUMMARY), prompts.plan_block(plan), *prompts.results(plan))
        return [AskMove("summary", scene.lead, (*blocks, *prompts.decided(scene.decisions)))]
    if not summary.succeeded:
        return [
            Complete(f"Every step of {plan.title} is done and accepted; no summary: {summary.text[:300]}")
        ]
    return [Complete(summary.text)]


def _looked_over(step: PlanStep) -> bool:
    """Since it was completed last: a review that reopened it does not count."""
    return bool(step.reviews) and step.reviews[-1].verdict == "accept"


def _review(scene: Scene, plan: Plan, to_do: Sequence[PlanStep]) -> Sequence[Move]:
    number = 1 + max(reopened(step) for step in plan.steps)
    if number > ROUNDS:
        return _by_a_person(plan, to_do, f"steps were reopened {ROUNDS} times")
    for turn in (f"check/{number}", f"check/{number}/again"):
        asking = scene.answered(turn)
        if asking is None:
            steps = ", ".join(step.id for step in to_do)
            told = prompts.task(prompts.REVIEW_STEPS.format(steps=steps))
            return [AskMove(turn, scene.reviewer, (told, prompts.plan_block(plan), *prompts.results(plan)))]
        if found := _found(turn, asking.text, to_do):
            return [found[0]]  # one at a time: the first that is reopened changes what follows
    return _by_a_person(plan, to_do, f"{scene.reviewer} did not review every step")


def _by_a_person(plan: Plan, to_do: Sequence[PlanStep], why: str) -> Sequence[Move]:
    return [
        Wait(f"{why}; a person reviews {step.id}: folkmoot plans review {plan.id} accept --step {step.id}")
        for step in to_do
    ]


def _found(purpose: str, text: str, to_do: Sequence[PlanStep]) -> list[ReviewStepMove]:
    """What a reviewer's report says about these steps, line by line; what it does not say clearly does not count."""
    said = {line["step"].lower(): line for line in _LINE.finditer(text)}
    return [
        ReviewStepMove(
            step.id,
            purpose,
            "accept" if line["verdict"].lower() == "accept" else "change",
            line["text"].strip() or ("" if line["verdict"].lower() == "accept" else "not accepted"),
        )
        for step in to_do
        if (line := said.get(step.id))
    ]
