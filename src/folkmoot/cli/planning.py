"""Plans at the terminal: read from a file, shown, and followed until they are done."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

from folkmoot.cli.call import Call, read_text
from folkmoot.cli.commands import TerminalOptions
from folkmoot.cli.moot import reading, redrawn
from folkmoot.cli.output import Cell, console, say, write, write_json, write_table
from folkmoot.cli.shown import in_one_line
from folkmoot.coordination.plan_service import Plans, brief
from folkmoot.coordination.plans import PlanWish
from folkmoot.domain.plan import Plan
from folkmoot.domain.text import storable
from folkmoot.errors import BAD_VALUE, WrongUse
from folkmoot.loader.document import compose, data
from folkmoot.loader.findings import Findings, Location
from folkmoot.operations.actor import by_account
from folkmoot.operations.operation import Operation
from folkmoot.operations.plans import DraftPlan, RevisePlan, ShowPlan
from folkmoot.ports import Clock


def present(operation: Operation[Any], output: Any) -> None:
    if isinstance(output, Plan):
        write(brief(output))
    elif output:
        write_table(("id", "status", "steps", "by", "title"), map(_row, output))
    else:
        say('there is no plan; `folkmoot plans draft "…" --step "…"` makes one')


def _live(
    live: Annotated[bool, typer.Option("--live", help="Stay, and follow it until it is done.")] = False,
) -> dict[str, Any]:
    return {}


async def _show(call: Call, wanted: Operation[Any], as_json: bool, *, live: bool) -> None:
    async with reading(call.folder) as project:
        plan = await wanted.run(project, by_account("terminal"))
        plan = await follow(project.plans, plan.id, console(), project.clock)
    if as_json:
        write_json(wanted.document(plan))


def _drafted(
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


def _from_file(
    file: Annotated[Path, typer.Option("--file", metavar="FILE", help="The plan as YAML or JSON.")],
) -> dict[str, Any]:
    return read_plan(file)


TERMINAL_OPTIONS = {
    ShowPlan: TerminalOptions(_live, _show),
    DraftPlan: TerminalOptions(_drafted),
    RevisePlan: TerminalOptions(_from_file),
}


async def one_plan(folder: Path, name: str) -> Plan:
    async with reading(folder) as project:
        return await ShowPlan(plan=name).run(project, by_account("terminal"))


async def follow(plans: Plans, id: str, console: Console, clock: Clock) -> Plan:
    """Draw a plan again and again until it is done or sent back."""

    async def look() -> tuple[Plan, str, bool]:
        plan = await plans.get(id)
        return plan, brief(plan), plan.status in ("done", "rejected")

    return await redrawn(console, look, clock)


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
    return (plan.id, plan.status, f"{over}/{len(plan.steps)}", plan.author, in_one_line(plan.title, 60))
