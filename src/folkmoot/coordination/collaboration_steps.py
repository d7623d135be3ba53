"""One step after the other: a task of its owner, a run, and a decision of the team where it is blocked. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from folkmoot.coordination import collaboration as prompts
from folkmoot.coordination import plan_steps
from folkmoot.coordination.collaboration import (
    AskMove,
    Move,
    RecordMove,
    Scene,
    WaitMove,
    chance_of,
    name_of,
    reopened,
)
from folkmoot.coordination.plan_service import errand_for
from folkmoot.coordination.plans import Events, PlanActor
from folkmoot.coordination.record_store import RUNTIME, Author
from folkmoot.coordination.tasks import NewTask
from folkmoot.coordination.work_sessions import becoming
from folkmoot.coordination.work_teams import narrowed
from folkmoot.domain.decision import About, Decision, Option, Proposal, Voter
from folkmoot.domain.errand import Block, Errand
from folkmoot.domain.plan import Plan, PlanStep
from folkmoot.domain.task import Task
from folkmoot.domain.work_session import SnapshotReason, WorkState

ATTEMPTS = 5
"""At one step; then a person must look."""
RETRY, SKIP, REASSIGN, SUGGESTED = "retry", "skip", "reassign-", "suggested"
"""The options of a decision on what blocks a step."""


def become(scene: Scene, state: WorkState, reason: str) -> list[Move]:
    """The work session goes on to another state."""
    id, decided = scene.work.id, becoming(state, reason)
    line = f"{state}: {reason}".rstrip(": ")
    return [RecordMove(lambda moot: moot.work_sessions.change(id, decided, Author(RUNTIME)), line)]


def snapshot(scene: Scene, reason: SnapshotReason, step: str = "", attempt: int = 1) -> list[Move]:
    id, state = scene.work.id, {"attempt": attempt}
    return [RecordMove(lambda moot: moot.work_sessions.snapshot(id, reason, step=step, state=state))]


def change_plan(
    plan: Plan, deed: Callable[[Plan, PlanActor], Events], line: str = "", by: Author = Author(RUNTIME)
) -> list[Move]:
    return [RecordMove(lambda moot: moot.plans.change(plan.id, by, deed), line)]


def member(scene: Scene, purpose: str, step: str = "") -> Author:
    """One that has said something in its run, maybe about several steps."""
    asking = scene.askings[purpose]
    return Author(asking.agent, asking.run, f"{purpose}/{step}".rstrip("/"), scene.work.id)


def carry_out(scene: Scene) -> Sequence[Move]:
    plan = scene.plan
    if plan is None:
        return become(scene, "Error", "its plan is gone")
    for step in plan.steps:
        if not step.is_over:
            return _step(scene, plan, step)
        taken, times = sum(each.step == step.id for each in scene.work.snapshots), reopened(step) + 1
        if taken < times:  # one for each time that a step was completed
            return snapshot(scene, "step_completed", step.id, times)
    return become(scene, "Reviewing", "every step is over")


def _step(scene: Scene, plan: Plan, step: PlanStep) -> Sequence[Move]:
    attempt = scene.attempt(step)
    if left := _left_over(scene, plan, step, attempt):
        return left
    if step.blocked:
        return _unblocked(scene, plan, step)
    if attempt > ATTEMPTS:
        return [
            WaitMove(f"step {step.id} was tried {ATTEMPTS} times; look at it: folkmoot plans show {plan.id}")
        ]
    return _begun(scene, plan, step, attempt)


def _begun(scene: Scene, plan: Plan, step: PlanStep, attempt: int) -> Sequence[Move]:
    """Accepted by its owner, a task of its own, and under way."""
    if step.handed_by:
        return _accepted(scene, plan, step, attempt)
    task = scene.tasks.get(name_of("task_", plan, step, attempt))
    if task is None:
        return [_open_task(scene, plan, step, attempt)]
    if not step.begun_by:
        return change_plan(plan, partial(plan_steps.start, id=step.id))
    return _carried_out(scene, plan, step, task)


def _open_task(scene: Scene, plan: Plan, step: PlanStep, attempt: int) -> RecordMove:
    by, new = _here(scene), NewTask(step.description, context=f"Done when: {step.acceptance}")
    return RecordMove(lambda moot: moot.tasks.of(step.owner, by).start(new, chance_of(plan, step, attempt)))


def _here(scene: Scene) -> Author:
    return Author(RUNTIME, work_session=scene.work.id)


def _carried_out(scene: Scene, plan: Plan, step: PlanStep, task: Task) -> Sequence[Move]:
    """By its owner, who may also say that it cannot go on."""
    attempt = scene.attempt(step)
    asking = scene.answered(f"step/{step.id}/{attempt}")
    if asking is None:
        return [_work(scene, plan, step, attempt)]
    if task.status == "blocked" and task.blocking:
        blocking = task.blocking
        return _blocked(scene, plan, step, blocking.blocked_reason, blocking.unblocked_action)
    if not asking.succeeded:
        return _blocked(scene, plan, step, f"the run of {asking.agent} failed: {asking.text[:500]}")
    if not task.has_ended:
        mine, said = Author(RUNTIME), asking.text
        return [
            RecordMove(lambda moot: moot.tasks.of(task.agent_id, mine).complete(task.id, said, force=True))
        ]
    return _complete(plan, step, asking.text)


def _complete(plan: Plan, step: PlanStep, note: str, *, skipped: bool = False) -> list[Move]:
    deed = partial(plan_steps.complete, id=step.id, note=note, skipped=skipped)
    return change_plan(plan, deed, f"step {step.id} is {'skipped' if skipped else 'done'}: {note}")


def _left_over(scene: Scene, plan: Plan, step: PlanStep, attempt: int) -> list[Move]:
    """Tasks of earlier attempts that were given up."""
    earlier = (scene.tasks.get(name_of("task_", plan, step, number)) for number in range(1, attempt))
    return [
        _cancel(task, f"step {step.id} is tried another way")
        for task in earlier
        if task and not task.has_ended
    ]


def _cancel(task: Task, reason: str) -> RecordMove:
    return RecordMove(lambda moot: moot.tasks.of(task.agent_id, Author(RUNTIME)).cancel(task.id, reason))


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
    policy = narrowed(errand.policy, scene.team, owner)
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
        by = member(scene, purpose, step.id)
        return change_plan(plan, partial(plan_steps.accept, id=step.id), by=by)
    said = asking.text[:300]
    return [WaitMove(f"{step.owner} does not take over step {step.id} ({said}); give it to another:"
                 f" folkmoot plans reassign {plan.id} {step.id} AGENT --reason \"…\"")]  # fmt: skip


def _blocked(scene: Scene, plan: Plan, step: PlanStep, reason: str, suggestion: str = "") -> Sequence[Move]:
    attempt = scene.attempt(step)
    decision = name_of("decision_", plan, step, attempt)
    if any(each.id == decision for each in scene.decisions):
        return change_plan(plan, partial(plan_steps.block, id=step.id, reason=reason, decision=decision))
    by, chance = _here(scene), chance_of(plan, step, attempt)
    proposal = _proposal(scene, plan, step, reason, suggestion)
    return [
        RecordMove(
            lambda moot: moot.decisions.propose(by, proposal, chance), f"step {step.id} is blocked: {reason}"
        )
    ]


def _proposal(scene: Scene, plan: Plan, step: PlanStep, reason: str, suggestion: str) -> Proposal:
    others = [each for each in scene.who_may("execute") if each not in (step.owner, scene.lead)]
    options = (
        *([Option(SUGGESTED, suggestion)] if suggestion else ()),
        Option(RETRY, f"{step.owner} tries again"),
        *(Option(f"{REASSIGN}{each}", f"{each} takes the step over") for each in others),
        Option(SKIP, "the step is left out"),
    )
    return Proposal(
        topic=f"{step.id} ({step.description}) is blocked: {reason}",
        options=options,
        participants=tuple(map(Voter, _voters(scene))),
        evidence=(step.owner,),
        lead=scene.lead,
        about=About(plan.id, step.id),
        work_session=scene.work.id,
    )


def _voters(scene: Scene) -> Sequence[str]:
    """All but the lead, who decides where they do not; with fewer than two of them the lead votes too."""
    voters = [each for each in scene.who_may("vote") if each != scene.lead]
    return voters if len(voters) > 1 else [*voters, scene.lead]


def _unblocked(scene: Scene, plan: Plan, step: PlanStep) -> Sequence[Move]:
    decision = next((each for each in scene.decisions if each.id == step.decision), None)
    if decision is None:
        return [WaitMove(f"step {step.id} is blocked: {step.blocked}")]
    if decision.status != "committed":
        return _deciding(scene, decision)
    chosen, why = decision.committed_option, prompts.because(decision)
    if chosen == SKIP:
        return _complete(plan, step, f"skipped: {why}", skipped=True)
    to = chosen.removeprefix(REASSIGN)
    if to != chosen and step.owner != to:
        deed = partial(plan_steps.reassign, id=step.id, to=to, reason=why)
        return change_plan(plan, deed, f"step {step.id} passes on to {to}: {why}")
    deed = partial(plan_steps.resume, id=step.id, reason=why)
    return change_plan(plan, deed, f"step {step.id} goes on: {why}")


def _deciding(scene: Scene, decision: Decision) -> Sequence[Move]:
    """Everybody votes at once; the lead decides where the votes do not."""
    shown = prompts.options(decision)
    if decision.status == "escalated":
        purpose = f"tie-break/{decision.id}"
        if scene.answered(purpose):
            options = ", ".join(option.id for option in decision.options)
            return [WaitMove(f"{decision.id} waits for a person, who takes one of {options}:"
                         f" folkmoot decisions commit {decision.id} --option OPTION --rationale \"…\"")]  # fmt: skip
        why = decision.escalated_because
        told = prompts.TIE_BREAK.format(decision=decision, why=why, options=shown)
        return [
            AskMove(purpose, scene.lead, (prompts.task(told), *_topic(decision), *prompts.votes(decision)))
        ]
    waiting = [each.name for each in decision.participants if each.name not in decision.standing_votes]
    if not waiting or decision.is_over(scene.now):
        return [RecordMove(lambda moot: moot.decisions.settle(decision.id))]
    told = prompts.VOTE.format(step=decision.about.step, decision=decision, options=shown)
    return [_vote(scene, decision, each, told) for each in waiting]


def _vote(scene: Scene, decision: Decision, voter: str, told: str) -> Move:
    purpose = f"vote/{decision.id}/{voter}"
    if asking := scene.answered(purpose):
        reason = f"its run ended without a vote: {asking.text[:200]}"
        return RecordMove(
            lambda moot: moot.decisions.abstain_for(decision.id, voter, reason), f"{voter} abstains: {reason}"
        )
    return AskMove(purpose, voter, (prompts.task(told), *_topic(decision)))


def _topic(decision: Decision) -> tuple[Block, ...]:
    topic = Block("decision", decision.topic, agent=decision.evidence[0] if decision.evidence else "")
    return (topic, *(Block("comment", each.text, agent=each.by) for each in decision.comments))
