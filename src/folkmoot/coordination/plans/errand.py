"""How a run is started for a step of a plan, so that its agents have what the plan was granted and no more. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from folkmoot.coordination.plans.steps import step_of
from folkmoot.domain.errand import Errand
from folkmoot.domain.plan import Plan
from folkmoot.domain.step_policy import StepPolicy


def errand_for(plan: Plan, step: str = "") -> Errand:
    """`Folkmoot.run(owner, text, errand=errand_for(plan, "s1"))`; without a step, for work under the plan at large.

    Nobody writes, runs or sends anything before the plan is approved, and then only with the tools that it requests.
    """
    policy = step_of(plan, step).tool_policy if step else StepPolicy()
    granted = plan.requested if plan.is_agreed else ()
    policy = replace(policy, acting=granted)
    return Errand(plan.work_session, task=plan.task, plan=plan.id, step=step, policy=policy)
