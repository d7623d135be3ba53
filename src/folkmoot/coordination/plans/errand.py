"""How a run is started for a step of a plan, so that its agents have what the plan was granted and no more. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from folkmoot.coordination.plans.steps import step_of
from folkmoot.domain.errand import Errand
from folkmoot.domain.gate import StepPolicy
from folkmoot.domain.plan import Plan, PlanStep


def details(step: PlanStep) -> Iterator[str]:
    """What its author said about a step beside what is to be done and when it is accepted."""
    if step.rationale:
        yield f"why: {step.rationale}"
    if step.expected_outputs:
        yield f"gives: {', '.join(step.expected_outputs)}"
    if step.stop_condition:
        yield f"stops when: {step.stop_condition}"


def errand_for(plan: Plan, step: str = "") -> Errand:
    """`Folkmoot.run(owner, text, errand=errand_for(plan, "s1"))`; without a step, for work under the plan at large.

    Nobody writes, runs or sends anything before the plan is approved, and then only with the tools that it requests.
    """
    policy = step_of(plan, step).tool_policy if step else StepPolicy()
    granted = plan.requested if plan.is_agreed else ()
    policy = replace(policy, acting=granted)
    return Errand(plan.work_session, task=plan.task, plan=plan.id, step=step, policy=policy)
