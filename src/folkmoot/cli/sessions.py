"""`folkmoot sessions`: the agent sessions of a run, as the tree of who caused whom."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from folkmoot.cli import work_sessions
from folkmoot.cli.call import GlobalOptions, run_async
from folkmoot.cli.commands import TerminalOptions, perform_operation
from folkmoot.cli.output import STYLES, Cell, format_elapsed, write_json, write_stderr, write_table
from folkmoot.domain.entry import pattern
from folkmoot.operations.agent_sessions import (
    OPERATIONS,
    DestroySession,
    GateSession,
    ListGates,
    ListLiveSessions,
    ListSessions,
    ListSessionsOfWork,
    UngateSession,
)
from folkmoot.operations.operation import Operation
from folkmoot.operations.work_reading import ListWorkSessions
from folkmoot.views.sessions import Row, rows, status_of


def present(operation: Operation[Any], output: Any) -> None:
    match operation:
        case ListSessions() if output.root:
            head = ("agent", "status", "cause", "turns", "tokens", "took", "session")
            write_table(head, (_cells(row, output.unended) for row in rows(output.root)))
        case ListSessions():
            gone = "the run was pruned; its sessions are gone"
            write_stderr(gone if output.unended == "pruned" else "nothing has run here yet")
        case ListGates() if output:
            lines = ((row.agent_id, ", ".join(row.tools), row.id) for row in output)
            write_table(("agent", "tools", "session"), lines)
        case ListGates():
            write_stderr("no tool is taken from any session of this run")
        case DestroySession():
            write_stderr(f"session {output.id} is destroyed: nobody can ask it any more")
        case GateSession():
            write_stderr(f"session {output.id} may not use: {', '.join(operation.tools)}")
        case UngateSession():
            write_stderr(f"session {output.id} may use again: {', '.join(operation.tools)}")
        case _:
            work_sessions.present(operation, output)


def _cells(row: Row, unended: str) -> tuple[Cell, ...]:
    branch, status = row.branch, status_of(row.branch, unended)
    return (
        row.guide + branch.agent,
        (status, STYLES.get(status, "")),
        pattern(branch.cause),
        str(branch.turn),
        f"{branch.tokens:,}",
        format_elapsed(branch.started_at, branch.ended_at),
        branch.id,
    )


def _read_live_option(
    live: Annotated[
        bool, typer.Option("--live", help="Only finished ones that are kept and can still be asked.")
    ] = False,
) -> dict[str, Any]:
    return {}


def _show_open_sessions(call: GlobalOptions, wanted: ListSessions, as_json: bool, *, live: bool) -> None:
    children = run_async(perform_operation(call, ListLiveSessions(id=wanted.id)))
    if as_json:
        write_json(children)
    elif not children:
        write_stderr("no finished session of this run can be asked")
    else:
        lines = (
            (child.agent_id, str(child.turns_remaining), str(child.clarifications), child.id)
            for child in children
        )
        write_table(("agent", "turns left", "asked", "session"), lines)


COMMANDS = OPERATIONS
TERMINAL_OPTIONS = {
    ListSessions: TerminalOptions(_read_live_option, _show_open_sessions),
    ListSessionsOfWork: work_sessions.TERMINAL_OPTIONS[ListWorkSessions],
}
