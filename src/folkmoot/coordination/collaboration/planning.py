"""From the goal to a plan that the team carries out: draft, reviews, the lead's decision, round by round. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from folkmoot.coordination.collaboration import prompts
from folkmoot.coordination.collaboration.moves import (
    AskMove,
    Become,
    CommitPlanMove,
    Move,
    ReviewPlanMove,
    SnapshotMove,
)
from folkmoot.coordination.collaboration.scene import Asking, Scene
from folkmoot.domain.plan import Plan, Verdict

ROUNDS = 3


def planning(scene: Scene) -> Sequence[Move]:
    plan = scene.plan
    if plan and plan.status == "approved":
        return [CommitPlanMove()]
    if plan and plan.status in ("committed", "done"):
        taken = any(each.reason == "plan_committed" for each in scene.work.snapshots)
        return [Become("Executing", f"{plan.id} is committed")] if taken else [SnapshotMove("plan_committed")]
    against = ""
    for number in range(1, ROUNDS + 1):
        drafted = scene.answered(f"plan/{number}")
        if drafted is None:
            return [_draft(scene, number, against)]
        against = _objection(scene, number, drafted)
        if not against:
            return _reviewed(scene, number)
    return [Become("Error", f"no plan was agreed on in {ROUNDS} rounds: {against}")]


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
    missing = (_review(scene, purpose) for purpose in purposes if purpose not in said)
    if records := [each for each in missing if each]:
        return records
    decide = prompts.task(prompts.DECIDE_PLAN.format(plan=scene.plan.id))
    return [AskMove(f"decide/{number}", scene.lead, (decide, shown, *prompts.reviews(scene.plan)))]


def _review(scene: Scene, purpose: str) -> ReviewPlanMove | None:
    """A run that failed says nothing about the plan."""
    asking = scene.askings[purpose]
    if not asking.succeeded:
        return None
    verdict: Verdict = "change" if asking.text.lstrip().lower().startswith("change") else "accept"
    return ReviewPlanMove(purpose, verdict, asking.text)


def incomplete(plan: Plan, owners: Sequence[str]) -> str:
    """What a plan lacks before anybody need decide on it; see D-4. `owners` may carry out a step."""
    lacking = [
        f"step {step.id} has no {' and no '.join(missing)}"
        for step in plan.steps
        if (missing := [field for field in ("owner", "acceptance") if not getattr(step, field).strip()])
    ]
    strangers = [
        f"step {step.id} is given to {step.owner!r}, who carries out no steps; give it to {', '.join(owners)}"
        for step in plan.steps
        if step.owner.strip() and step.owner not in owners
    ]
    return "; ".join((*lacking, *strangers))
