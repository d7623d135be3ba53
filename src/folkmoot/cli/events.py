"""`folkmoot events`: what happened, by whom, when and in which work session; over all runs and records."""

from __future__ import annotations

from typing import Annotated, Any, get_args

import typer

from folkmoot.cli.commands import TerminalOptions
from folkmoot.cli.output import say, write_table
from folkmoot.domain.entry import Entry
from folkmoot.domain.role import Role
from folkmoot.errors import NotFound
from folkmoot.operations.events import ListEvents
from folkmoot.operations.operation import Operation, RowPage
from folkmoot.views.event_rows import event_row


def present(operation: Operation[Any], output: RowPage[Entry]) -> None:
    rows = [
        (str(row.seq), row.ts, row.type, row.agent, row.place, row.said)
        for row in map(event_row, output.rows)
    ]
    if rows:
        write_table(("seq", "time", "type", "agent", "in", "what"), reversed(rows))
    else:
        say("there are no such events")


def _role(
    role: Annotated[
        str, typer.Option(metavar="ROLE", help="Of one role: `orchestration.task`, or its beginning.")
    ] = "",
) -> dict[str, Any]:
    known: tuple[str, ...] = get_args(Role)
    fitting = [each for each in known if each.startswith(role)]
    if role and len(fitting) != 1:
        raise NotFound(f"there is no role {role!r}; there are {', '.join(known)}", code="role_not_found")
    return {"role": fitting[0]} if role else {}


TERMINAL_OPTIONS = {ListEvents: TerminalOptions(_role)}
