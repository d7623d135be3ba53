"""One step after the other: a task of its owner, a run, and a decision of the team where it is blocked. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from folkmoot.coordination.collaboration import prompts
from folkmoot.coordination.collaboration.moves import (
    Abstain,
    AcceptStepMove,
    AskMove,
    Become,
    BlockStepMove,
    CompleteStepMove,
    EndTask,
    Move,
    OpenTask,
    Propose,
    ReassignStepMove,
    ResumeStepMove,
    SettleDecision,
    SnapshotMove,
    StartStepMove,
    Wait,
)
from folkmoot.coordination.collaboration.scene import Scene, name_of, reopened
from folkmoot.coordination.plans.errand import errand_for
from folkmoot.coordination.work_sessions.forming import narrowed
from folkmoot.domain.decision import Decision
from folkmoot.domain.errand import Block, Errand
from folkmoot.domain.plan import Plan, PlanStep
from folkmoot.domain.task import Task

ATTEMPTS = 5
"""At one step; then a person must look."""
RETRY, SKIP, REASSIGN, SUGGESTED = "retry", "skip", "reassign-", "suggested"
"""The options of a decision on what blocks a step."""


def executing(scene: Scene) -> Sequence[Move]:
    plan = scene.plan
    if plan is None:
        return [Become("Error", "its plan is gone")]
    for step in plan.steps:
        if not step.is_over:
            return _step(scene, plan, step)
        if move := _snapshot(scene, step):
            return [move]
    return [Become("Reviewing", "every step is over")]


def _snapshot(scene: Scene, step: PlanStep) -> SnapshotMove | None:
    """One for each time that a step was completed."""
    taken = sum(each.step == step.id for each in scene.work.snapshots)
    times = reopened(step) + 1
    return SnapshotMove("step_completed", step.id, times) if taken < times else None


def _step(scene: Scene, plan: Plan, step: PlanStep) -> Sequence[Move]:
    attempt = scene.attempt(step)
    if left := _left_over(scene, plan, step, attempt):
        return left
    if step.blocked:
        return _unblocked(scene, step)
    if attempt > ATTEMPTS:
        return [Wait(f"step {step.id} was tried {ATTEMPTS} times; look at it: folkmoot plans show {plan.id}")]
    return _begun(scene, plan, step, attempt)


def _begun(scene: Scene, plan: Plan, step: PlanStep, attempt: int) -> Sequence[Move]:
    """Accepted by its owner, a task of its own, and under way."""
    if step.handed_by:
        return _accepted(scene, plan, step, attempt)
    task = scene.tasks.get(name_of("task_", plan, step, attempt))
    if task is None:
        return [OpenTask(step.id, attempt)]
    if not step.begun_by:
        return [StartStepMove(step.id)]
    return _carried_out(scene, plan, step, task)


def _carried_out(scene: Scene, plan: Plan, step: PlanStep, task: Task) -> Sequence[Move]:
    """By its owner, who may also say that it cannot go on."""
    attempt = scene.attempt(step)
    asking = scene.answered(f"step/{step.id}/{attempt}")
    if asking is None:
        return [_work(scene, plan, step, attempt)]
    if task.status == "blocked" and task.blocking:
        blocking = task.blocking
        return _blocked(scene, step, blocking.blocked_reason, blocking.unblocked_action)
    if not asking.succeeded:
        return _blocked(scene, step, f"the run of {asking.agent} failed: {asking.text[:500]}")
    if not task.has_ended:
        return [EndTask(task.id, summary=asking.text)]
    return [CompleteStepMove(step.id, asking.text)]


def _left_over(scene: Scene, plan: Plan, step: PlanStep, attempt: int) -> list[Move]:
    """Tasks of earlier attempts that were given up."""
    earlier = (scene.tasks.get(name_of("task_", plan, step, number)) for number in range(1, attempt))
    reason = f"step {step.id} is tried another way"
    return [EndTask(task.id, reason=reason) for task in earlier if task and not task.has_ended]


def _work(scene: Scene, plan: Plan, step: PlanStep, attempt: int) -> AskMove:
    task = name_of("task_", plan, step, attempt)
    blocks = (
        prompts.task(prompts.STEP.format(step=step, task=task)),
        prompts.plan_block(plan),
        *prompts.results(plan, before=step),
        *prompts.objections(step),
        *prompts.decided(scene.about(step)),
        *prompts.reason(step, scene.about(step)),
    )
    errand = replace(errand_for(plan, step.id), task=task)
    return AskMove(f"step/{step.id}/{attempt}", step.owner, blocks, _allowed(scene, step.owner, errand))


def _allowed(scene: Scene, owner: str, errand: Errand) -> Errand:
    """Within what the team lets its member do; the tools for its own task it always has."""
    member = scene.team.member(owner)
    policy = narrowed(errand.policy, member.policy) if member else errand.policy
    if policy.tools is not None:
        policy = replace(policy, tools=(*policy.tools, "task_*"))
    return replace(errand, policy=policy)


def _accepted(scene: Scene, plan: Plan, step: PlanStep, attempt: int) -> Sequence[Move]:
    purpose = f"accept/{step.id}/{attempt}"
    asking = scene.answered(purpose)
    if asking is None:
        told = prompts.task(prompts.ACCEPT.format(step=step))
        about = scene.about(step)
        blocks = (told, prompts.plan_block(plan), *prompts.decided(about), *prompts.reason(step, about))
        return [AskMove(purpose, step.owner, blocks)]
    if asking.succeeded and not asking.text.lstrip().lower().startswith("decline"):
        return [AcceptStepMove(step.id, purpose)]
    said = asking.text[:300]
    return [Wait(f"{step.owner} does not take over step {step.id} ({said}); give it to another:"
                 f" folkmoot plans reassign {plan.id} {step.id} AGENT --reason \"…\"")]  # fmt: skip


def _blocked(scene: Scene, step: PlanStep, reason: str, suggestion: str = "") -> Sequence[Move]:
    assert scene.plan is not None
    attempt = scene.attempt(step)
    decision = name_of("decision_", scene.plan, step, attempt)
    if all(each.id != decision for each in scene.decisions):
        return [Propose(step.id, attempt, reason, suggestion)]
    return [BlockStepMove(step.id, reason, decision)]


def _unblocked(scene: Scene, step: PlanStep) -> Sequence[Move]:
    decision = next((each for each in scene.decisions if each.id == step.decision), None)
    if decision is None:
        return [Wait(f"step {step.id} is blocked: {step.blocked}")]
    if decision.status != "committed":
        return _deciding(scene, decision)
    chosen, why = decision.committed_option, prompts.because(decision)
    if chosen == SKIP:
        return [CompleteStepMove(step.id, f"skipped: {why}", skipped=True)]
    to = chosen.removeprefix(REASSIGN)
    if to != chosen and step.owner != to:
        return [ReassignStepMove(step.id, to, why)]
    return [ResumeStepMove(step.id, why)]


def _deciding(scene: Scene, decision: Decision) -> Sequence[Move]:
    """Everybody votes at once; the lead decides where the votes do not."""
    shown = prompts.options(decision)
    if decision.status == "escalated":
        purpose = f"tie-break/{decision.id}"
        if scene.answered(purpose):
            options = ", ".join(option.id for option in decision.options)
            return [Wait(f"{decision.id} waits for a person, who takes one of {options}:"
                         f" folkmoot decisions commit {decision.id} --option OPTION --rationale \"…\"")]  # fmt: skip
        why = decision.escalated_because
        told = prompts.TIE_BREAK.format(decision=decision, why=why, options=shown)
        return [
            AskMove(purpose, scene.lead, (prompts.task(told), *_topic(decision), *prompts.votes(decision)))
        ]
    waiting = [each.name for each in decision.participants if each.name not in decision.standing_votes]
    if not waiting or decision.is_over(scene.now):
        return [SettleDecision(decision.id)]
    told = prompts.VOTE.format(step=decision.about.step, decision=decision, options=shown)
    return [_vote(scene, decision, each, told) for each in waiting]


def _vote(scene: Scene, decision: Decision, voter: str, told: str) -> Move:
    purpose = f"vote/{decision.id}/{voter}"
    if asking := scene.answered(purpose):
        return Abstain(decision.id, voter, f"its run ended without a vote: {asking.text[:200]}")
    return AskMove(purpose, voter, (prompts.task(told), *_topic(decision)))


def _topic(decision: Decision) -> tuple[Block, ...]:
    topic = Block("decision", decision.topic, agent=decision.evidence[0] if decision.evidence else "")
    return (topic, *(Block("comment", each.text, agent=each.by) for each in decision.comments))
