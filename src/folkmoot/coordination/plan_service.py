"""The plans of a project: `await moot.plans.change(id, author, plan_steps.start, "s1")`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Concatenate, ParamSpec

from msgspec.structs import replace

from folkmoot.coordination import plans
from folkmoot.coordination.plan_steps import step_of
from folkmoot.coordination.plans import Events, PlanActor, PlanWish, acting, planned
from folkmoot.coordination.record_store import Author, RecordStore
from folkmoot.domain.agent import Graph
from folkmoot.domain.duration import written
from folkmoot.domain.errand import Errand
from folkmoot.domain.gate import StepPolicy
from folkmoot.domain.plan import Plan, PlanCreated, PlanStep, PlanSubmitted, Review
from folkmoot.domain.records import PLAN
from folkmoot.errors import WrongUse
from folkmoot.ports import Clock, Journal, RecordQuery


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


P = ParamSpec("P")


class Plans(RecordStore[Plan]):
    def __init__(self, journal: Journal, clock: Clock, graph: Graph) -> None:
        super().__init__(PLAN, journal, clock)
        self._graph = graph

    def work_session_of(self, record: Plan) -> str:
        return record.work_session

    async def meant(self, work_session: str) -> str:
        """The one plan that waits for a decision in a work session."""
        waiting = [*await self.select(RecordQuery(work_session=work_session, statuses=("submitted",)))]
        if len(waiting) != 1:
            raise WrongUse(f"name a plan; waiting here for a decision are {', '.join(waiting) or 'none'}")
        return waiting[0]

    async def draft(
        self, author: Author, wish: PlanWish, *, chance: str = "", submitted: bool = False
    ) -> Plan:
        """A new plan; `chance` is for authors that make no call. `submitted`: it waits for a decision at once."""
        id = author.new_id(PLAN.prefix, chance)
        plan = planned(wish, id, author.name, author.work_session, self._graph.tool_name)
        events: Events = [PlanCreated(plan), *([PlanSubmitted(plan.id)] if submitted else [])]
        return await self.write(id, author, lambda there: () if there else events, plan.work_session)

    async def revise(self, id: str, author: Author, wish: PlanWish, *, submitted: bool = False) -> Plan:
        """Another draft of a plan that nobody agreed to yet."""
        before = await self.get(id)
        wanted = planned(wish, id, before.author, before.work_session, self._graph.tool_name)
        return await self.change(id, author, plans.revise, wanted, submitted=submitted)

    async def change(
        self,
        id: str,
        author: Author,
        decide: Callable[Concatenate[Plan, PlanActor, P], Events],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Plan:
        """What `plans` and `plan_steps` decide, on the plan as it is when it is written."""
        actor = acting(author, self._graph)
        return await self.update(id, author, lambda plan: decide(plan, actor, *args, **kwargs))
