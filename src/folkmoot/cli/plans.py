"""`folkmoot plans`: what agents and people set out to do together, and how it is agreed on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Concatenate, NamedTuple, ParamSpec

import typer

from folkmoot.cli.call import AsJson, call_of, finished
from folkmoot.domain.text import storable

if TYPE_CHECKING:
    from folkmoot.cli.planning import Change
    from folkmoot.coordination.plans.actor import Actor
    from folkmoot.coordination.plans.life import Events
    from folkmoot.coordination.plans.wish import PlanWish
    from folkmoot.domain.plan import Plan, Verdict

P = ParamSpec("P")
app = typer.Typer(help="What agents and people set out to do together.", no_args_is_help=True)

Id = Annotated[
    str,
    typer.Argument(metavar="ID", help="As `list` shows it, its beginning, or `last`.", show_default=False),
]
As = Annotated[str, typer.Option("--as", metavar="NAME", help="Who you are; no agent's name.")]
Reason = Annotated[str, typer.Option(help="Why; whoever it concerns reads it.", parser=storable)]


@app.command("list")
def list_plans(
    context: typer.Context,
    status: Annotated[str, typer.Option(help="Only those that are so, such as `submitted`.")] = "",
    work_session: Annotated[str, typer.Option(metavar="ID", help="Only those of this one.")] = "",
    as_json: AsJson = False,
) -> None:
    """List plans, the oldest first.

    \b
    Examples:
      folkmoot plans list
      folkmoot plans list --status submitted --json
    """
    from folkmoot.cli.output import say, write_json, write_table
    from folkmoot.cli.planning import all_plans, row
    from folkmoot.views.plan_json import document

    found = [
        plan
        for plan in finished(all_plans(call_of(context).folder))
        if status in ("", plan.status) and work_session in ("", plan.work_session)
    ]
    if as_json:
        write_json([document(plan) for plan in found])
    elif not found:
        say('there is no plan; `folkmoot plans draft "…" --step "…"` makes one')
    else:
        write_table(("id", "status", "steps", "by", "title"), map(row, found))


@app.command()
def show(
    context: typer.Context,
    id: Id,
    live: Annotated[bool, typer.Option("--live", help="Stay, and follow it until it is done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one plan: its steps, their owners, and how it stands.

    \b
    Examples:
      folkmoot plans show last
      folkmoot plans show last --live
    """
    from folkmoot.cli.output import console
    from folkmoot.cli.planning import one_plan, watched

    folder = call_of(context).folder
    plan = finished(watched(folder, id, console()) if live else one_plan(folder, id))
    if as_json or not live:
        _write(plan, as_json=as_json)


@app.command()
def draft(
    context: typer.Context,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What it is about.", parser=storable)] = "",
    step: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A step; may be repeated.", parser=storable)
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="The plan as YAML or JSON.")
    ] = None,
    by: As = "",
    as_json: AsJson = False,
) -> None:
    """Draft a plan: from a title and steps, or from a file that also says who owns each step and what it may do.

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

    \b
    Examples:
      folkmoot plans draft --file plan.yaml
      folkmoot plans draft "Add export" --step "Write it" --step "Test it"
    """
    from folkmoot.cli.planning import drafted

    wish = _wish(title, step or [], file)
    _change(Told(context, "", by, as_json), lambda plans, _, me: drafted(plans, me, wish))


@app.command()
def revise(
    context: typer.Context,
    id: Id,
    file: Annotated[Path, typer.Option("--file", metavar="FILE", help="The plan as YAML or JSON.")],
    by: As = "",
    as_json: AsJson = False,
) -> None:
    """Put another version in the place of a plan that nobody approved yet. It is a draft again.

    \b
    Examples:
      folkmoot plans revise last --file plan.yaml
    """
    from folkmoot.cli.planning import read_plan

    wish = read_plan(file)
    _change(Told(context, id, by, as_json), lambda plans, id, me: plans.revise(id, me, wish))


@app.command()
def submit(context: typer.Context, id: Id, by: As = "", as_json: AsJson = False) -> None:
    """Have a plan decided.

    \b
    Examples:
      folkmoot plans submit last
    """
    from folkmoot.coordination.plans import life

    decided(Told(context, id, by, as_json), life.submit)


@app.command()
def approve(
    context: typer.Context,
    id: Id,
    committed: Annotated[bool, typer.Option("--commit", help="And let it be carried out at once.")] = False,
    by: As = "",
    as_json: AsJson = False,
) -> None:
    """Approve a submitted plan: its agents may use the tools that it requests.

    \b
    Examples:
      folkmoot plans approve last
      folkmoot plans approve last --commit
    """
    from folkmoot.coordination.plans import life

    decided(Told(context, id, by, as_json), life.approve, committed=committed)


@app.command()
def reject(context: typer.Context, id: Id, reason: Reason = "", by: As = "", as_json: AsJson = False) -> None:
    """Reject a submitted plan; its author reads the reason.

    \b
    Examples:
      folkmoot plans reject last --reason "Say which format."
    """
    from folkmoot.coordination.plans import life

    decided(Told(context, id, by, as_json), life.reject, reason)


@app.command()
def commit(context: typer.Context, id: Id, by: As = "", as_json: AsJson = False) -> None:
    """Let an approved plan be carried out. Each step must have an owner and an acceptance.

    \b
    Examples:
      folkmoot plans commit last
    """
    from folkmoot.coordination.plans import life

    decided(Told(context, id, by, as_json), life.commit)


@app.command()
def review(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    id: Id,
    said: Annotated[
        str, typer.Argument(metavar="accept|change", help="What the review comes to.", show_default=False)
    ],
    step: Annotated[str, typer.Option(metavar="STEP", help="One that is over; absent: the whole plan.")] = "",
    text: Annotated[str, typer.Option(help="What should change.", parser=storable)] = "",
    by: As = "",
    as_json: AsJson = False,
) -> None:
    """Look over a plan that is not decided, or a step that is over. A step that should change is reopened.

    \b
    Examples:
      folkmoot plans review last change --text "Say which format."
      folkmoot plans review last accept --step s1
    """
    from folkmoot.coordination.plans import life, steps

    told, verdict = Told(context, id, by, as_json), _verdict(said)
    if step:
        decided(told, steps.review, step, verdict, text)
    else:
        decided(told, life.review, verdict, text)


class Told(NamedTuple):
    """What every command is told that changes a plan."""

    context: typer.Context
    id: str
    by: str
    as_json: bool


def decided(
    told: Told, decide: Callable[Concatenate[Plan, Actor, P], Events], *args: P.args, **kwargs: P.kwargs
) -> None:
    """Let `life` or `steps` decide on what somebody wants."""
    _change(told, lambda plans, id, me: plans.change(id, me, decide, *args, **kwargs))


def _change(told: Told, change: Change) -> None:
    """Carry it out, and show what the plan is then."""
    from folkmoot.cli.planning import changed

    _write(finished(changed(call_of(told.context), told.id, told.by, change)), as_json=told.as_json)


def _wish(title: str, steps: list[str], file: Path | None) -> PlanWish:
    from folkmoot.cli.planning import read_plan
    from folkmoot.coordination.plans.wish import PlanWish
    from folkmoot.errors import WrongUse

    if file is None:
        if not title:
            raise WrongUse("name the plan: a TITLE with --step, or --file plan.yaml")
        return PlanWish(title, tuple(steps))
    if title or steps:
        raise WrongUse("the plan is in the file: give either --file, or a TITLE with --step")
    return read_plan(file)


def _verdict(said: str) -> Verdict:
    from folkmoot.errors import WrongUse

    words: tuple[Verdict, ...] = ("accept", "change")
    if said not in words:
        raise WrongUse(f"a review says {' or '.join(words)}, not {said!r}")
    return words[words.index(said)]


def _write(plan: Plan, *, as_json: bool) -> None:
    from folkmoot.cli.output import write, write_json
    from folkmoot.coordination.plans.brief import brief
    from folkmoot.views.plan_json import document

    write_json(document(plan)) if as_json else write(brief(plan))
