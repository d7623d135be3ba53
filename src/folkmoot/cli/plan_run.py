"""`folkmoot plans run`: the owner of a step carries it out, within what the step may do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, Quiet, Target, Wait, call_of, finished

if TYPE_CHECKING:
    from folkmoot.app import Folkmoot
    from folkmoot.orchestration.inbox import Answerer
    from folkmoot.orchestration.invocation import HearSpan
    from folkmoot.views.result import Result


def run(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="As `list` shows it, its beginning, or `last`.", show_default=False
        ),
    ],
    step: Annotated[str, typer.Argument(metavar="STEP", help="Such as s1.", show_default=False)],
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
    from folkmoot.coordination.author import Author
    from folkmoot.coordination.plan_steps import step_of
    from folkmoot.engine.collaboration import begun
    from folkmoot.operations.actor import account_name

    call, started = call_of(context), time.monotonic()
    plan = finished(one_plan(call.folder, id))
    target = Target(folder=call.folder, agent=step_of(plan, step).owner)

    async def begin(moot: Folkmoot, hear: HearSpan | None, answer: Answerer | None) -> Result:
        wanted = await begun(moot.moot, plan.id, step, Author(account_name()), text)
        return await moot.run(
            wanted.owner, wanted.request, hear=hear, answer=answer, wait=wait, errand=wanted.errand
        )

    result = perform(call, target, begin, quiet=quiet)
    return finish(result, as_json=as_json, quiet=quiet, took=time.monotonic() - started)
