"""Plans at the terminal: read from a file, shown, and followed until they are done."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.console import Console

from folkmoot.cli.call import (
    AsJson,
    GlobalOptions,
    Quiet,
    Target,
    Wait,
    get_global_options,
    read_text,
    run_async,
)
from folkmoot.cli.commands import TerminalOptions
from folkmoot.cli.output import Cell, console, format_one_line, write, write_json, write_stderr, write_table
from folkmoot.cli.project import open_readonly_project, redraw
from folkmoot.coordination.plan_service import Plans, brief
from folkmoot.coordination.plans import PlanWish
from folkmoot.domain.plan import Plan
from folkmoot.domain.text import storable
from folkmoot.errors import BAD_VALUE, WrongUse
from folkmoot.loader.document import compose, data
from folkmoot.loader.findings import Findings, Location
from folkmoot.operations.actor import by_account
from folkmoot.operations.operation import Operation
from folkmoot.operations.plan_steps import OPERATIONS
from folkmoot.operations.plans import DraftPlan, RevisePlan, ShowPlan
from folkmoot.ports import Clock

if TYPE_CHECKING:
    from folkmoot.app import Folkmoot
    from folkmoot.orchestration.inbox import ItemHandler
    from folkmoot.orchestration.invocation import SpanTokenListener
    from folkmoot.views.result import Result


def present(operation: Operation[Any], output: Any) -> None:
    if isinstance(output, Plan):
        write(brief(output))
    elif output:
        write_table(("id", "status", "steps", "by", "title"), map(_row, output))
    else:
        write_stderr('there is no plan; `folkmoot plans draft "…" --step "…"` makes one')


def _read_live_option(
    live: Annotated[bool, typer.Option("--live", help="Stay, and follow it until it is done.")] = False,
) -> dict[str, Any]:
    return {}


async def _find_plan(call: GlobalOptions, wanted: ShowPlan, *, live: bool) -> Plan:
    async with open_readonly_project(call.folder) as project:
        plan = await wanted.run(project, by_account("terminal"))
        return await follow_plan(project.plans, plan.id, console(), project.clock) if live else plan


def _show_plan(call: GlobalOptions, wanted: ShowPlan, as_json: bool, *, live: bool) -> None:
    plan = run_async(_find_plan(call, wanted, live=live))
    if as_json:
        write_json(wanted.document(plan))


def _read_draft_options(
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What it is about.", parser=storable)] = "",
    step: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A step; may be repeated.", parser=storable)
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="The plan as YAML or JSON.")
    ] = None,
) -> dict[str, Any]:
    """From a title and steps, or from a file that also says who owns each step and what it may do.

    \b
    A file:
      title: Add export
      goal: Users can take their data with them.
      tools_requested: [files.write]
      steps:
        - description: Write it
          owner: coder
          acceptance: The tests pass.
          tool_policy: {approval: auto, budget: {time: 10m, tokens: 50000, files_changed: 3}}
    """
    if file is None:
        if not title:
            raise WrongUse("name the plan: a TITLE with --step, or --file plan.yaml", code=BAD_VALUE)
        return {"title": title, "steps": tuple(step or ())}
    if title or step:
        raise WrongUse("the plan is in the file: give either --file, or a TITLE with --step", code=BAD_VALUE)
    return read_plan(file)


def _read_file_option(
    file: Annotated[Path, typer.Option("--file", metavar="FILE", help="The plan as YAML or JSON.")],
) -> dict[str, Any]:
    return read_plan(file)


TERMINAL_OPTIONS = {
    ShowPlan: TerminalOptions(_read_live_option, _show_plan),
    DraftPlan: TerminalOptions(_read_draft_options),
    RevisePlan: TerminalOptions(_read_file_option),
}


async def follow_plan(plans: Plans, id: str, console: Console, clock: Clock) -> Plan:
    """Draw a plan again and again until it is done or sent back."""

    async def look() -> tuple[Plan, str, bool]:
        plan = await plans.get(id)
        return plan, brief(plan), plan.status in ("done", "rejected")

    return await redraw(console, look, clock)


def read_plan(file: Path) -> dict[str, Any]:
    """The fields of a plan from YAML or JSON. Raises with the place of what is wrong."""
    text = read_text(file, "--file")
    findings = Findings()
    node = compose(text, Location(str(file)), findings)
    findings.settle()
    try:
        return msgspec.structs.asdict(msgspec.convert(data(node) if node else None, PlanWish))
    except msgspec.ValidationError as error:
        raise WrongUse(
            f"{file} is no plan: {error}; `folkmoot plans draft --help` shows one", code=BAD_VALUE
        ) from None


def _row(plan: Plan) -> tuple[Cell, ...]:
    """Its line in the list."""
    over = sum(step.is_over for step in plan.steps)
    return (plan.id, plan.status, f"{over}/{len(plan.steps)}", plan.author, format_one_line(plan.title, 60))


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
    from folkmoot.cli.failure import write_result
    from folkmoot.cli.perform import run_in_terminal
    from folkmoot.coordination.plan_steps import step_of
    from folkmoot.coordination.record_store import Author
    from folkmoot.engine.collaboration import begin_step_run
    from folkmoot.operations.actor import account_name

    call, started = get_global_options(context), time.monotonic()
    plan = run_async(_find_plan(call, ShowPlan(plan=id), live=False))
    target = Target(folder=call.folder, agent=step_of(plan, step).owner)

    async def begin(moot: Folkmoot, hear: SpanTokenListener | None, answer: ItemHandler | None) -> Result:
        wanted = await begin_step_run(moot.moot, plan.id, step, Author(account_name()), text)
        return await moot.run(
            wanted.owner, wanted.request, hear=hear, answer=answer, wait=wait, errand=wanted.errand
        )

    result = run_in_terminal(call, target, begin, quiet=quiet)
    return write_result(result, as_json=as_json, quiet=quiet, took=time.monotonic() - started)


COMMANDS = (*OPERATIONS, run)
