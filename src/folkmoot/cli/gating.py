"""`folkmoot sessions gate`, `ungate` and `gates`: the tools that somebody took from a session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, call_of, finished
from folkmoot.cli.complete import run_names

if TYPE_CHECKING:
    from folkmoot.domain.inbox_events import GateChanged

Session = Annotated[
    str,
    typer.Argument(
        metavar="SESSION", help="A session's id, as `sessions list` shows it.", show_default=False
    ),
]
Tools = Annotated[
    list[str], typer.Argument(metavar="TOOL…", help="As agent files name them.", show_default=False)
]
Reason = Annotated[str, typer.Option(help="Kept with the run.")]


def gate(
    context: typer.Context, session: Session, tools: Tools, reason: Reason = "", as_json: AsJson = False
) -> None:
    """Take tools from a session: from here on it is not offered them, and its calls of them are refused.

    Other sessions keep them. Works on a run that goes on in any process, and on one that waits.

    \b
    Examples:
      folkmoot sessions gate 20260101-101500-1a2b3c4d files.write shell
    """
    _change(context, session, gated=tools, freed=[], reason=reason, as_json=as_json)


def ungate(
    context: typer.Context, session: Session, tools: Tools, reason: Reason = "", as_json: AsJson = False
) -> None:
    """Give tools back that were taken from a session.

    \b
    Examples:
      folkmoot sessions ungate 20260101-101500-1a2b3c4d files.write
    """
    _change(context, session, gated=[], freed=tools, reason=reason, as_json=as_json)


def gates(
    context: typer.Context,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run's id, or its beginning.", autocompletion=run_names)
    ] = "last",
    as_json: AsJson = False,
) -> None:
    """List the tools that were taken from sessions of a run.

    \b
    Examples:
      folkmoot sessions gates last
    """
    from folkmoot.cli.output import say, write_json, write_table
    from folkmoot.cli.records import read_record
    from folkmoot.views.sessions import gates as taken

    rows = taken(finished(read_record(call_of(context).folder, run)).drafts)
    if as_json:
        write_json(rows)
    elif not rows:
        say("no tool is taken from any session of this run")
    else:
        write_table(
            ("agent", "tools", "session"), ((row.agent_id, ", ".join(row.tools), row.id) for row in rows)
        )


def add_to(app: typer.Typer) -> None:
    for command in (gate, ungate, gates):
        app.command()(command)


def _change(
    context: typer.Context, session: str, *, gated: list[str], freed: list[str], reason: str, as_json: bool
) -> None:
    from folkmoot.cli.output import say, write_json
    from folkmoot.domain.inbox_events import GateChanged
    from folkmoot.domain.naming import wire_name
    from folkmoot.operations.actor import account_name

    taken, back = (tuple(map(wire_name, names)) for names in (gated, freed))
    change = GateChanged(session, taken, back, account_name(), reason)
    change = finished(_told(call_of(context).folder, change))
    if as_json:
        write_json({"sessionId": session, "status": "recorded", "gated": change.gated, "freed": change.freed})
    else:
        say(f"session {session} {'may not use' if gated else 'may use again'}: {', '.join(gated or freed)}")


async def _told(folder: Path, change: GateChanged) -> GateChanged:
    from folkmoot.cli.records import opened
    from folkmoot.engine.clock import SystemClock
    from folkmoot.engine.local import LocalEngine

    async with opened(folder, readonly=False) as journal:
        return await LocalEngine(journal, SystemClock()).gate(change)
