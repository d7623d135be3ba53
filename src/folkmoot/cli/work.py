"""`folkmoot work`: the collaborations around goals, with their teams, states and timelines."""

from __future__ import annotations

from typing import Annotated

import typer

from folkmoot.cli.call import AsJson, call_of, finished
from folkmoot.cli.commands import make_group

app = make_group("work_sessions", "working_shown", "Work sessions: the collaborations around goals.")

Work = Annotated[
    str,
    typer.Argument(
        metavar="WS", help="A work session's id, the beginning of one, or `last`.", show_default=False
    ),
]
Live = Annotated[bool, typer.Option("--live", help="Stay, and show what happens, until Ctrl-C.")]


@app.command("list")
def list_work(
    context: typer.Context,
    status: Annotated[
        str, typer.Option(metavar="STATUS", help="Only those that are ACTIVE, QUIET or ARCHIVED.")
    ] = "",
    category: Annotated[str, typer.Option(metavar="ID", help="Only of this category.")] = "",
    role: Annotated[str, typer.Option(metavar="ROLE", help="Only with events of this role.")] = "",
    live: Live = False,
    as_json: AsJson = False,
) -> None:
    """List all work sessions, where something happened last first; also those of plain runs.

    \b
    Examples:
      folkmoot work list
      folkmoot work list --status ACTIVE --category infra_ops
      folkmoot work list --live
    """
    from folkmoot.cli.working_shown import Wanted, show_rows

    show_rows(call_of(context).folder, Wanted.read(status, category, role), live=live, as_json=as_json)


@app.command()
def show(context: typer.Context, work: Work, as_json: AsJson = False) -> None:
    """Show one work session: goal, state, team, artifacts, snapshots and timeline.

    \b
    Examples:
      folkmoot work show last
      folkmoot work show ws_1f0a2b3c --json
    """
    from folkmoot.cli.output import write_json
    from folkmoot.cli.working import document
    from folkmoot.cli.working_shown import write_document

    shown = finished(document(call_of(context).folder, work))
    write_json(shown) if as_json else write_document(shown)


@app.command()
def artifact(
    context: typer.Context,
    work: Work,
    name: Annotated[str, typer.Argument(metavar="ARTIFACT", help="Its title, or the beginning of its hash.")],
) -> None:
    """Print the content of an artifact of a work session.

    \b
    Examples:
      folkmoot work artifact last "The parser" | git apply
    """
    from folkmoot.cli.working import content
    from folkmoot.cli.working_shown import write_content

    write_content(finished(content(call_of(context).folder, work, name)))


@app.command()
def timeline(context: typer.Context, work: Work, live: Live = False, as_json: AsJson = False) -> None:
    """Tell what happened in a work session, in order of time, one line each.

    With --live and --json, each line is one JSON document.

    \b
    Examples:
      folkmoot work timeline last
      folkmoot work timeline last --live
    """
    from folkmoot.cli.working_shown import show_timeline

    show_timeline(call_of(context).folder, work, live=live, as_json=as_json)
