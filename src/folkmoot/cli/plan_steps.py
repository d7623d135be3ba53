"""`folkmoot plans start`, `complete`, `reassign` and so on: what people do to the steps of a plan."""

from __future__ import annotations

from typing import Annotated

import typer

from folkmoot.cli.call import AsJson
from folkmoot.cli.plans import As, Id, Reason, Told, decided
from folkmoot.domain.text import storable

Step = Annotated[str, typer.Argument(metavar="STEP", help="Such as s1.", show_default=False)]
Note = Annotated[str, typer.Option(help="What came of it.", parser=storable)]


def start(context: typer.Context, id: Id, step: Step, by: As = "", as_json: AsJson = False) -> None:
    """Say that a step of a committed plan is under way.

    \b
    Examples:
      folkmoot plans start last s1
    """
    from folkmoot.coordination.plans import steps

    decided(Told(context, id, by, as_json), steps.start, step)


def complete(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    id: Id,
    step: Step,
    note: Note = "",
    skip: Annotated[bool, typer.Option("--skip", help="It will not be done.")] = False,
    by: As = "",
    as_json: AsJson = False,
) -> None:
    """Say that a step is done; with the last one the plan is.

    \b
    Examples:
      folkmoot plans complete last s1 --note "See export.py."
      folkmoot plans complete last s2 --skip --note "Nobody needs it."
    """
    from folkmoot.coordination.plans import steps

    decided(Told(context, id, by, as_json), steps.complete, step, note, skipped=skip)


def block(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    id: Id,
    step: Step,
    reason: Reason = "",
    decision: Annotated[str, typer.Option(metavar="ID", help="What must be decided first.")] = "",
    by: As = "",
    as_json: AsJson = False,
) -> None:
    """Say that a step cannot go on, and why.

    \b
    Examples:
      folkmoot plans block last s1 --reason "Which format?"
    """
    from folkmoot.coordination.plans import steps

    decided(Told(context, id, by, as_json), steps.block, step, reason, decision)


def resume(
    context: typer.Context, id: Id, step: Step, reason: Reason = "", by: As = "", as_json: AsJson = False
) -> None:
    """Say that what blocked a step is out of the way.

    \b
    Examples:
      folkmoot plans resume last s1 --reason "CSV."
    """
    from folkmoot.coordination.plans import steps

    decided(Told(context, id, by, as_json), steps.resume, step, reason)


def reassign(  # noqa: PLR0913  # because every option is a parameter
    context: typer.Context,
    id: Id,
    step: Step,
    to: Annotated[str, typer.Argument(metavar="OWNER", help="An agent's id.", show_default=False)],
    reason: Reason = "",
    by: As = "",
    as_json: AsJson = False,
) -> None:
    """Give a step to another owner, with all that was done of it. The new owner accepts it before it goes on.

    \b
    Examples:
      folkmoot plans reassign last s1 tester --reason "Knows the format."
    """
    from folkmoot.coordination.plans import steps

    decided(Told(context, id, by, as_json), steps.reassign, step, to, reason)


def accept(context: typer.Context, id: Id, step: Step, by: As = "", as_json: AsJson = False) -> None:
    """Take a step that was given to you, or to an agent in whose name you do so.

    \b
    Examples:
      folkmoot plans accept last s1
    """
    from folkmoot.coordination.plans import steps

    decided(Told(context, id, by, as_json), steps.accept, step)


def reopen(
    context: typer.Context, id: Id, step: Step, reason: Reason = "", by: As = "", as_json: AsJson = False
) -> None:
    """Say that a step that is over is not; its owner goes on with it.

    \b
    Examples:
      folkmoot plans reopen last s1 --reason "There are no tests."
    """
    from folkmoot.coordination.plans import steps

    decided(Told(context, id, by, as_json), steps.reopen, step, reason)


def add_to(app: typer.Typer) -> None:
    for command in (start, complete, block, resume, reassign, accept, reopen):
        app.command()(command)
