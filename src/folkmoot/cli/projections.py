"""`folkmoot projections`: the files below `.folkmoot` that say what the journal says of tasks, plans and decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, call_of, finished

if TYPE_CHECKING:
    from pathlib import Path

    from folkmoot.engine.projections import Difference


def projections(
    context: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Only say what is behind; exit 1 if anything is.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Write tasks (Markdown), plans (JSON), decisions (ADRs in Markdown) and the team's state anew from the journal.

    They are written by themselves when a record changes; editing one changes nothing but the file.

    \b
    Examples:
      folkmoot projections
      folkmoot projections --check
    """
    from folkmoot.cli.amounts import counted
    from folkmoot.cli.output import write, write_json

    behind = finished(_brought_up(call_of(context).folder, check=check))
    if as_json:
        write_json({"changed": behind.changed, "gone": behind.gone})
    else:
        for path in (*behind.changed, *behind.gone):
            write(f"{'missing or old' if path in behind.changed else 'without a record'}: {path}")
        count = counted(len(behind.changed) + len(behind.gone), "file")
        write(f"{count} {'behind the journal' if check else 'brought up to the journal'}")
    return 1 if check and (behind.changed or behind.gone) else 0


async def _brought_up(folder: Path, *, check: bool) -> Difference:
    """Looks at the journal alone: an open project would write the files by itself."""
    from folkmoot.cli.records import opened
    from folkmoot.coordination.moot import Moot
    from folkmoot.engine.clock import SystemClock
    from folkmoot.engine.projections import difference, projected, write
    from folkmoot.engine.workshop import load_project
    from folkmoot.journal.database import FOLDER

    async with opened(folder) as journal:
        wanted = await projected(Moot(journal, SystemClock(), load_project(folder).graph))
    return (difference if check else write)(folder / FOLDER, wanted)
