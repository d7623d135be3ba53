"""Runs that carry out the step of a plan."""

from __future__ import annotations

from msgspec.structs import replace

from folkmoot.coordination.plan_steps import step_of
from folkmoot.engine.collaboration import begun
from folkmoot.http.api.runs import OF_RUN
from folkmoot.http.api.shapes import RunState, begun_run, require_run
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.requests import Said


class RunStep(Said):
    text: str = ""
    """What its owner is asked; absent: what the step says."""
    wait: bool = False
    """Keep the run going while it waits for someone, instead of parking it."""


async def run_step(asked: Asked) -> RunState:
    """Its agents are held to what the step may do: its tools, approvals and budget. The run goes on by itself, and the
    step is completed if the run is."""
    body: RunStep = asked.body
    run = asked.chance[:20] if asked.key else ""
    plan = await asked.desks.plans.get(await asked.desks.plans.find(asked.id))
    step = step_of(plan, asked.path["step"]).id
    if run and (before := await begun_run(asked, run)):
        asked.must_repeat((before.errand.plan, before.errand.step) == (plan.id, step))
        return RunState(run, (await require_run(asked, run)).status)
    wanted = await begun(asked.desks, plan.id, step, asked.author, body.text)
    errand = replace(wanted.errand, run=run)
    run = await asked.house.room.begin(wanted.owner, wanted.request, errand, wait=body.wait)
    return RunState(run, (await require_run(asked, run)).status)


OPERATIONS = (
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
)
