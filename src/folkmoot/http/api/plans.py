"""Plans: what agents and people set out to do together, how it is agreed on, and how its steps go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

from msgspec.structs import replace

from folkmoot.coordination.plans import life, steps
from folkmoot.coordination.plans.actor import Actor
from folkmoot.coordination.plans.life import Events
from folkmoot.coordination.plans.wish import PlanWish
from folkmoot.domain.plan import Plan, PlanStatus, Verdict
from folkmoot.engine.step_runs import begun
from folkmoot.errors import NotFound
from folkmoot.http.api.agents import agent_of
from folkmoot.http.api.runs import OF_RUN
from folkmoot.http.api.shapes import RunState, begun_run, require_run
from folkmoot.http.endpoint import Asked, Document, Endpoint
from folkmoot.http.paging import Page, Part, part
from folkmoot.http.problems import input_refused
from folkmoot.http.reading import Said, Words, WorkSessionId
from folkmoot.views.plan_json import document

P = ParamSpec("P")
OF_PLAN = {"id": "$response.body#/id"}
OF_STEP = {**OF_PLAN, "step": "$response.body#/steps/0/id"}


class PlansQuery(Page):
    status: PlanStatus | None = None
    """Those that are so."""
    work_session: str = ""
    """Only those of this one."""


class DraftPlan(PlanWish, kw_only=True):
    """A plan as `folkmoot plans draft --file` takes it."""

    by: Words = "user"
    """Who makes it; no agent's name."""
    submitted: bool = False
    """It waits for a decision at once."""
    work_session: WorkSessionId = ""


class ApprovePlan(Said):
    commit: bool = False
    """And let it be carried out at once."""
    text: str = ""


class PlanReason(Said):
    reason: Words
    """Whoever it concerns reads it."""


class ReviewPlan(Said):
    verdict: Verdict
    text: str = ""
    """What should change."""


class RunStep(Said):
    text: str = ""
    """What its owner is asked; absent: what the step says."""
    wait: bool = False
    """Keep the run going while it waits for someone, instead of parking it."""


class CompleteStep(Said):
    note: str = ""
    """What came of it."""
    skipped: bool = False
    """It will not be done."""


class BlockStep(PlanReason):
    decision: str = ""
    """What must be decided first."""


class ResumeStep(Said):
    reason: str = ""


class ReassignStep(PlanReason):
    to: Words
    """The id of the agent that shall own it."""


async def list_plans(asked: Asked) -> Part:
    """The oldest first."""
    query: PlansQuery = asked.query
    rows = [
        document(plan)
        for plan in (await asked.desks.plans.all()).values()
        if query.status in (None, plan.status) and query.work_session in ("", plan.work_session)
    ]
    return part(rows, query, lambda row: str(row["id"]))


async def show_plan(asked: Asked) -> dict[str, Any]:
    return document(await asked.desks.plans.get(asked.id))


async def draft_plan(asked: Asked) -> dict[str, Any]:
    body: DraftPlan = asked.body
    with input_refused():
        plan = await asked.desks.plans.draft(
            asked.author, body, chance=asked.chance, submitted=body.submitted
        )
    asked.must_repeat(plan.title == body.title)
    return document(plan)


async def revise_plan(asked: Asked) -> dict[str, Any]:
    body: DraftPlan = asked.body
    plan = await asked.desks.plans.revise(asked.id, asked.author, body, submitted=body.submitted)
    return document(plan)


async def submit_plan(asked: Asked) -> dict[str, Any]:
    return await _changed(asked, life.submit)


async def approve_plan(asked: Asked) -> dict[str, Any]:
    """Its agents may then use the tools that it requests."""
    return await _changed(asked, life.approve, asked.body.text, committed=asked.body.commit)


async def reject_plan(asked: Asked) -> dict[str, Any]:
    return await _changed(asked, life.reject, asked.body.reason)


async def commit_plan(asked: Asked) -> dict[str, Any]:
    """Each step must have an owner and an acceptance."""
    return await _changed(asked, life.commit)


async def review_plan(asked: Asked) -> dict[str, Any]:
    return await _changed(asked, life.review, asked.body.verdict, asked.body.text)


async def start_step(asked: Asked) -> dict[str, Any]:
    return await _changed(asked, steps.start, await _step(asked))


async def run_step(asked: Asked) -> RunState:
    """Its agents are held to what the step may do: its tools, approvals and budget. The run goes on by itself, and the
    step is completed if the run is."""
    body: RunStep = asked.body
    step, run = await _step(asked), asked.chance[:20] if asked.key else ""
    if run and (before := await begun_run(asked, run)):
        asked.must_repeat((before.errand.plan, before.errand.step) == (asked.id, step))
        return RunState(run, (await require_run(asked, run)).status)
    wanted = await begun(asked.desks, asked.id, step, asked.author, body.text)
    errand = replace(wanted.errand, run=run)
    run = await asked.house.room.begin(wanted.owner, wanted.request, errand, wait=body.wait)
    return RunState(run, (await require_run(asked, run)).status)


async def complete_step(asked: Asked) -> dict[str, Any]:
    """With the last step the plan is done."""
    body: CompleteStep = asked.body
    return await _changed(asked, steps.complete, await _step(asked), body.note, skipped=body.skipped)


async def block_step(asked: Asked) -> dict[str, Any]:
    body: BlockStep = asked.body
    return await _changed(asked, steps.block, await _step(asked), body.reason, body.decision)


async def resume_step(asked: Asked) -> dict[str, Any]:
    return await _changed(asked, steps.resume, await _step(asked), asked.body.reason)


async def reassign_step(asked: Asked) -> dict[str, Any]:
    """The new owner accepts it before it goes on."""
    body: ReassignStep = asked.body
    return await _changed(asked, steps.reassign, await _step(asked), body.to, body.reason)


async def accept_step(asked: Asked) -> dict[str, Any]:
    return await _changed(asked, steps.accept, await _step(asked))


async def review_step(asked: Asked) -> dict[str, Any]:
    """A step that should change is reopened."""
    return await _changed(asked, steps.review, await _step(asked), asked.body.verdict, asked.body.text)


async def reopen_step(asked: Asked) -> dict[str, Any]:
    return await _changed(asked, steps.reopen, await _step(asked), asked.body.reason)


async def _changed(
    asked: Asked, decide: Callable[Concatenate[Plan, Actor, P], Events], *args: P.args, **kwargs: P.kwargs
) -> dict[str, Any]:
    return document(await asked.desks.plans.change(asked.id, asked.author, decide, *args, **kwargs))


async def _step(asked: Asked) -> str:
    plan, step = await asked.desks.plans.get(asked.id), asked.path["step"]
    if step not in (each.id for each in plan.steps):
        raise NotFound(f"there is no step {step!r} in {plan.id}", code="step_not_found")
    return step


def _change(verb: str, summary: str, handle: Any, body: Any = Said) -> Endpoint:
    of_step = verb.startswith("steps/")
    then = (
        ("startStep", "completeStep", "reviewStep") if of_step else ("showPlan", "approvePlan", "commitPlan")
    )
    return Endpoint(
        method="POST",
        path=f"/plans/{{id}}/{verb}",
        summary=summary,
        handle=handle,
        body=body,
        answer=Document,
        problems=(409,),
        links={name: OF_STEP if of_step else OF_PLAN for name in then},
    )


async def agent_plans(asked: Asked) -> Part:
    agent = agent_of(asked).id
    plans = (await asked.desks.plans.all()).values()
    own = [
        document(plan)
        for plan in plans
        if agent == plan.author or any(agent == step.owner for step in plan.steps)
    ]
    return part(own, asked.query, lambda row: str(row["id"]))


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/plans",
        summary="Plans, the oldest first",
        handle=list_plans,
        query=PlansQuery,
        answer=list[Document],
        links={name: {"id": "$response.body#/0/id"} for name in ("showPlan", "submitPlan", "approvePlan")},
    ),
    Endpoint(
        method="POST",
        path="/plans",
        summary="Draft a plan",
        handle=draft_plan,
        body=DraftPlan,
        answer=Document,
        status=201,
        links={name: OF_PLAN for name in ("showPlan", "submitPlan", "revisePlan", "reviewPlan")},
    ),
    Endpoint(method="GET", path="/plans/{id}", summary="One plan", handle=show_plan, answer=Document),
    _change("revise", "Put another version in its place; it is a draft again", revise_plan, DraftPlan),
    _change("submit", "Have a plan decided", submit_plan),
    _change("approve", "Approve a submitted plan", approve_plan, ApprovePlan),
    _change("reject", "Reject a submitted plan", reject_plan, PlanReason),
    _change("commit", "Let an approved plan be carried out", commit_plan),
    _change("review", "Look over a plan that is not decided", review_plan, ReviewPlan),
    _change("steps/{step}/start", "Say that a step is under way", start_step),
    Endpoint(
        method="POST",
        path="/plans/{id}/steps/{step}/run",
        summary="Let the owner of a step carry it out",
        handle=run_step,
        body=RunStep,
        answer=RunState,
        status=202,
        problems=(409,),
        links={name: OF_RUN for name in ("showRun", "cancelRun", "runEvents")},
    ),
    _change("steps/{step}/complete", "Say that a step is done", complete_step, CompleteStep),
    _change("steps/{step}/block", "Say that a step cannot go on", block_step, BlockStep),
    _change("steps/{step}/resume", "Say that a step can go on", resume_step, ResumeStep),
    _change("steps/{step}/reassign", "Give a step to another owner", reassign_step, ReassignStep),
    _change("steps/{step}/accept", "Take a step that was passed on", accept_step),
    _change("steps/{step}/review", "Look over a step that is over", review_step, ReviewPlan),
    _change("steps/{step}/reopen", "Say that a step that is over is not", reopen_step, PlanReason),
    Endpoint(
        method="GET",
        path="/agents/{id}/plans",
        summary="The plans that an agent made, or has a step of",
        handle=agent_plans,
        query=Page,
        answer=list[Document],
    ),
)
