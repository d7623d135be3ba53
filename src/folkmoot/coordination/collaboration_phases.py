"""What comes next in a collaboration, given where it stands: plan, carry out, review, sum up. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from folkmoot.coordination import collaboration as prompts
from folkmoot.coordination import plan_steps, plans
from folkmoot.coordination.collaboration import (
    Asking,
    AskMove,
    CompleteMove,
    Move,
    Scene,
    WaitMove,
    reopened,
)
from folkmoot.coordination.collaboration_steps import become, carry_out, change_plan, member, snapshot
from folkmoot.domain.plan import Plan, PlanStep, Verdict
from folkmoot.domain.work_session import WorkState

ROUNDS = 3
"""Of drafting a plan, and of a review in which something is reopened; then a person must look."""
_LINE = re.compile(
    r"^[ \t*-]*(?P<step>s\d+)[ \t:*-]+(?P<verdict>accept|reopen)\w*[ \t:,.;-]*(?P<text>.*)$",
    re.IGNORECASE | re.MULTILINE,
)


def planning(scene: Scene) -> Sequence[Move]:
    plan = scene.plan
    if plan and plan.status == "approved":
        return change_plan(plan, plans.commit, "the plan is committed")
    if plan and plan.status in ("committed", "done"):
        taken = any(each.reason == "plan_committed" for each in scene.work.snapshots)
        if not taken:
            return snapshot(scene, "plan_committed")
        return become(scene, "Executing", f"{plan.id} is committed")
    against = ""
    for number in range(1, ROUNDS + 1):
        drafted = scene.answered(f"plan/{number}")
        if drafted is None:
            return [_draft(scene, number, against)]
        against = _objection(scene, number, drafted)
        if not against:
            return _reviewed(scene, number)
    return become(scene, "Error", f"no plan was agreed on in {ROUNDS} rounds: {against}")


def _draft(scene: Scene, number: int, against: str) -> AskMove:
    blocks = [prompts.task(prompts.PLAN.format(members=prompts.members(scene)))]
    if scene.plan:
        blocks = [prompts.task(prompts.REVISE.format(plan=scene.plan.id, reason=against))]
        blocks += [prompts.plan_block(scene.plan), *prompts.reviews(scene.plan)]
    elif against:
        blocks.append(prompts.task(against))
    return AskMove(f"plan/{number}", scene.planner, tuple(blocks))


def _objection(scene: Scene, number: int, drafted: Asking) -> str:
    """Why another round is needed; empty if this one is still under way."""
    plan, decided = scene.plan, scene.answered(f"decide/{number}")
    if scene.askings.get(f"plan/{number + 1}"):
        return _why(plan, drafted) or "it was sent back"
    if plan is None:
        return f"no plan was submitted with plan_submit: {drafted.text[:300]}"
    if plan.status == "rejected":
        return plan.reject_reason
    if lacking := incomplete(plan, scene.who_may("execute")):
        return lacking
    if decided:
        return f"{scene.lead} neither approved nor rejected it: {decided.text[:300]}"
    return ""


def _why(plan: Plan | None, drafted: Asking) -> str:
    return plan.reject_reason if plan else f"no plan was submitted: {drafted.text[:300]}"


def _reviewed(scene: Scene, number: int) -> Sequence[Move]:
    """All who are neither planner nor lead look it over, at once; then the lead decides."""
    assert scene.plan is not None
    shown = prompts.plan_block(scene.plan)
    others = [each for each in scene.who_may("review") if each not in (scene.planner, scene.lead)]
    purposes = {f"review/{number}/{each}": each for each in others}
    asks = [
        AskMove(purpose, each, (prompts.task(prompts.REVIEW_PLAN), shown))
        for purpose, each in purposes.items()
        if not scene.answered(purpose)
    ]
    if asks:
        return asks
    said = [review.place for review in scene.plan.reviews]  # also on earlier versions
    missing = [_review(scene, scene.plan, purpose) for purpose in purposes if purpose not in said]
    if records := [move for moves in missing for move in moves]:
        return records
    decide = prompts.task(prompts.DECIDE_PLAN.format(plan=scene.plan.id))
    return [AskMove(f"decide/{number}", scene.lead, (decide, shown, *prompts.reviews(scene.plan)))]


def _review(scene: Scene, plan: Plan, purpose: str) -> Sequence[Move]:
    """A run that failed says nothing about the plan."""
    asking = scene.askings[purpose]
    if not asking.succeeded:
        return []
    verdict: Verdict = "change" if asking.text.lstrip().lower().startswith("change") else "accept"
    deed = partial(plans.review, verdict=verdict, text=asking.text)
    return change_plan(plan, deed, by=member(scene, purpose))


def incomplete(plan: Plan, owners: Sequence[str]) -> str:
    """What a plan lacks before anybody need decide on it; see D-4. `owners` may carry out a step."""
    strangers = [
        f"step {step.id} is given to {step.owner!r}, who carries out no steps; give it to {', '.join(owners)}"
        for step in plan.steps
        if step.owner.strip() and step.owner not in owners
    ]
    return "; ".join((*plans.lacking(plan), *strangers))


def reviewing(scene: Scene) -> Sequence[Move]:
    plan = scene.plan
    if plan is None:
        return become(scene, "Error", "its plan is gone")
    if again := next((step for step in plan.steps if not step.is_over), None):
        return become(scene, "Executing", f"step {again.id} was reopened")
    to_do = [step for step in plan.steps if not _looked_over(step)]
    if to_do:
        return _check_steps(scene, plan, to_do)
    summary = scene.answered("summary")
    if summary is None:
        blocks = (prompts.task(prompts.SUMMARY), prompts.plan_block(plan), *prompts.results(plan))
        return [AskMove("summary", scene.lead, (*blocks, *prompts.decided(scene.decisions)))]
    if not summary.succeeded:
        return [
            CompleteMove(f"Every step of {plan.title} is done and accepted; no summary: {summary.text[:300]}")
        ]
    return [CompleteMove(summary.text)]


def _looked_over(step: PlanStep) -> bool:
    """Since it was completed last: a review that reopened it does not count."""
    return bool(step.reviews) and step.reviews[-1].verdict == "accept"


def _check_steps(scene: Scene, plan: Plan, to_do: Sequence[PlanStep]) -> Sequence[Move]:
    number = 1 + max(reopened(step) for step in plan.steps)
    if number > ROUNDS:
        return _by_a_person(plan, to_do, f"steps were reopened {ROUNDS} times")
    for turn in (f"check/{number}", f"check/{number}/again"):
        asking = scene.answered(turn)
        if asking is None:
            steps = ", ".join(step.id for step in to_do)
            told = prompts.task(prompts.REVIEW_STEPS.format(steps=steps))
            return [AskMove(turn, scene.reviewer, (told, prompts.plan_block(plan), *prompts.results(plan)))]
        if found := _found(scene, plan, turn, to_do):
            return found  # one at a time: the first that is reopened changes what follows
    return _by_a_person(plan, to_do, f"{scene.reviewer} did not review every step")


def _by_a_person(plan: Plan, to_do: Sequence[PlanStep], why: str) -> Sequence[Move]:
    return [
        WaitMove(
            f"{why}; a person reviews {step.id}: folkmoot plans review {plan.id} accept --step {step.id}"
        )
        for step in to_do
    ]


def _found(scene: Scene, plan: Plan, purpose: str, to_do: Sequence[PlanStep]) -> Sequence[Move]:
    """The first that a reviewer's report says about these steps; what it does not say clearly does not count."""
    said = {line["step"].lower(): line for line in _LINE.finditer(scene.askings[purpose].text)}
    for step in to_do:
        if line := said.get(step.id):
            verdict: Verdict = "accept" if line["verdict"].lower() == "accept" else "change"
            text = line["text"].strip() or ("" if verdict == "accept" else "not accepted")
            deed = partial(plan_steps.review, id=step.id, verdict=verdict, text=text)
            came = "accepted" if verdict == "accept" else f"reopened: {text}"
            return change_plan(plan, deed, f"step {step.id} is {came}", member(scene, purpose, step.id))
    return []


_PHASES: dict[WorkState, Callable[[Scene], Sequence[Move]]] = {
    "Initialized": lambda scene: become(scene, "Planning", "the team is complete"),
    "TeamFormed": lambda scene: become(scene, "Planning", "the team is complete"),
    "Planning": planning,
    "Executing": carry_out,
    "Reviewing": reviewing,
}


def next_moves(scene: Scene) -> Sequence[Move]:
    """Several may be made at once; none: it has ended."""
    work = scene.work
    if work.ended:
        return []
    if work.paused:
        return [WaitMove(f"{work.id} is paused; go on with: folkmoot work resume {work.id}")]
    if work.team is None or not scene.lead:
        return [
            WaitMove(
                f"{work.id} has no team with a lead; form one: folkmoot work team {work.id} lead=AGENT worker=AGENT"
            )
        ]
    return _PHASES[work.state](scene)
