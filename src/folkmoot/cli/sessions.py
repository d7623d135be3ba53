"""`folkmoot sessions`: the agent sessions of a run, as the tree of who caused whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, call_of, finished
from folkmoot.cli.complete import run_names

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from folkmoot.cli.output import Cell
    from folkmoot.domain.entry import Draft
    from folkmoot.views.sessions import Row

app = typer.Typer(help="The agent sessions of a run.", no_args_is_help=True)


@app.callback()
def _sessions() -> None:
    """The agent sessions of a run, as the tree of who caused whom."""


@app.command("list")
def list_sessions(
    context: typer.Context,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run's id, or its beginning.", autocompletion=run_names)
    ] = "last",
    live: Annotated[
        bool, typer.Option("--live", help="Only finished ones that are kept and can still be asked.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the sessions of a run, children below their parents.

    \b
    Examples:
      folkmoot sessions list
      folkmoot sessions list 20260101-101500 --json
      folkmoot sessions list --live last
    """
    from folkmoot.cli.output import say, write_json, write_table
    from folkmoot.cli.records import all_runs, read_record
    from folkmoot.views.run_tree import RunTree
    from folkmoot.views.sessions import rows, session_rows

    folder = call_of(context).folder
    if run == "last" and not finished(all_runs(folder)):
        write_json([]) if as_json else say(f"nothing has run in {folder} yet")
        return
    record = finished(read_record(folder, run))
    if live:
        _write_live(record.drafts, as_json=as_json)
        return
    if record.row.status == "pruned":
        write_json([]) if as_json else say(f"run {record.row.run_id} was pruned; its sessions are gone")
        return
    root = RunTree(record.drafts).root
    assert root is not None, "a run begins with its root"
    if as_json:
        write_json(session_rows(root, record.unended))
        return
    head = ("agent", "status", "cause", "turns", "tokens", "took", "session")
    write_table(head, (_cells(row, record.unended) for row in rows(root)))


@app.command()
def destroy(
    context: typer.Context,
    session: Annotated[
        str, typer.Argument(metavar="SESSION", help="A session's id, as `sessions list --live` shows it.")
    ],
    reason: Annotated[str, typer.Option(help="Kept with the run.")] = "destroyed by its user",
    as_json: AsJson = False,
) -> None:
    """Let go of a finished session that is kept to be asked, whichever process runs its run.

    With it go all sessions that it kept itself. Returns when nobody can ask it any more.

    \b
    Examples:
      folkmoot sessions destroy 20260101-101500-1a2b3c4d:sub_clerk_5e6f7a8b
    """
    from folkmoot.cli.output import say, write_json

    finished(_let_go(call_of(context).folder, session, reason))
    if as_json:
        write_json({"sessionId": session, "status": "destroyed"})
    else:
        say(f"session {session} is destroyed: nobody can ask it any more")


def _cells(row: Row, unended: str) -> tuple[Cell, ...]:
    from folkmoot.cli.amounts import between
    from folkmoot.cli.output import STYLES
    from folkmoot.domain.entry import pattern
    from folkmoot.views.sessions import status_of

    branch, status = row.branch, status_of(row.branch, unended)
    return (
        row.guide + branch.agent,
        (status, STYLES.get(status, "")),
        pattern(branch.cause),
        str(branch.turn),
        f"{branch.tokens:,}",
        between(branch.started_at, branch.ended_at),
        branch.id,
    )


def _write_live(drafts: Iterable[Draft], *, as_json: bool) -> None:
    from folkmoot.cli.output import say, write_json, write_table
    from folkmoot.views.sessions import live_children

    children = live_children(drafts)
    if as_json:
        write_json(children)
    elif not children:
        say("no finished session of this run can be asked")
    else:
        head = ("agent", "turns left", "asked", "session")
        rows = (
            (child.agent_id, str(child.turns_remaining), str(child.clarifications), child.id)
            for child in children
        )
        write_table(head, rows)


async def _let_go(folder: Path, session: str, reason: str) -> None:
    from folkmoot.cli.records import opened
    from folkmoot.engine.clock import SystemClock
    from folkmoot.engine.commands import CloseSession
    from folkmoot.engine.local import LocalEngine

    async with opened(folder, readonly=False) as journal:
        await LocalEngine(journal, SystemClock()).send(session, CloseSession(session, reason))
