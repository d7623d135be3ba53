"""`folkmoot plans run`: the owner of a step carries it out, within what the step may do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, Quiet, Target, Wait, call_of, finished
from folkmoot.cli.plan_steps import Step
from folkmoot.cli.plans import Id

if TYPE_CHECKING:
    from folkmoot.app import Folkmoot
    from folkmoot.domain.plan import Plan, PlanStep
    from folkmoot.orchestration.inbox import Answerer
    from folkmoot.orchestration.invocation import HearSpan
    from folkmoot.views.result import Result


def run(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    id: Id,
    step: Step,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What its owner is asked; absent: what the step says.")
    ] = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
    wait: Wait = False,
) -> int:
    """Let the owner of a step carry it out, and print its report. The step is completed if the run is.

    All agents of the run are held to what the step may do: its tools, approvals and budget.

    \b
    Examples:
      folkmoot plans run last s1
      folkmoot plans run last s1 "Write it, and mind the umlauts."
    """
    from folkmoot.cli.ending import finish
    from folkmoot.cli.perform import perform
    from folkmoot.cli.planning import one_plan
    from folkmoot.coordination.plans.errand import errand_for
    from folkmoot.coordination.plans.steps import step_of

    call, began = call_of(context), time.monotonic()
    plan = finished(one_plan(call.folder, id))
    owner = step_of(plan, step).owner

    async def begin(moot: Folkmoot, hear: HearSpan | None, answer: Answerer | None) -> Result:
        begun = await _begun(moot, plan.id, step)
        request, errand = text or _asked(step_of(begun, step)), errand_for(begun, step)
        result = await moot.run(owner, request, hear=hear, answer=answer, wait=wait, errand=errand)
        await _ended(moot, plan.id, step, result)
        return result

    result = perform(call, Target(folder=call.folder, agent=owner), begin, quiet=quiet)
    return finish(result, as_json=as_json, quiet=quiet, took=time.monotonic() - began)


async def _begun(moot: Folkmoot, id: str, step: str) -> Plan:
    """Started, unless it was before: a run may have failed."""
    from folkmoot.cli.asking import this_user
    from folkmoot.coordination.author import Author
    from folkmoot.coordination.plans import steps

    plan = await moot.moot.plans.get(id)
    if steps.step_of(plan, step).begun_by:
        return plan
    return await moot.moot.plans.change(id, Author(this_user()), steps.start, step)


async def _ended(moot: Folkmoot, id: str, step: str, result: Result) -> None:
    from folkmoot.cli.asking import this_user
    from folkmoot.coordination.author import Author
    from folkmoot.coordination.plans import steps

    if result.success and (report := result.final_report):
        await moot.moot.plans.change(id, Author(this_user()), steps.complete, step, report.content)


def _asked(step: PlanStep) -> str:
    return f"{step.description}\n\nIt is accepted when: {step.acceptance}"
