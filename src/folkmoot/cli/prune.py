"""`folkmoot runs prune`: old runs go, their tombstones stay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, call_of, finished
from folkmoot.errors import WrongUse

if TYPE_CHECKING:
    from folkmoot.domain.run_row import RunRow
    from folkmoot.engine.runs import Pruned


def prune(
    context: typer.Context,
    older_than: Annotated[
        str, typer.Option(metavar="TIME", help="Only runs that ended longer ago, such as 30d or 12h.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove runs that ended long ago, and the artifacts that nothing names any more.

    Runs that wait, run or were interrupted stay. Of each removed run a tombstone stays with its last hash, so that
    `folkmoot verify` still holds and `runs show` says what became of it. This cannot be undone: see `journal backup`.

    \b
    Examples:
      folkmoot runs prune --older-than 30d --dry-run
      folkmoot runs prune --older-than 30d
    """
    from folkmoot.cli.amounts import counted
    from folkmoot.cli.output import say, write, write_json
    from folkmoot.domain.duration import seconds

    age = seconds(older_than)
    if age is None:
        raise WrongUse(f"--older-than takes a time such as 30d, 12h or 90m, not {older_than!r}")
    rows, pruned = finished(_prune(call_of(context).folder, age, dry_run))
    ids = [row.run_id for row in rows]
    if as_json:
        write_json({"runs": ids, "dryRun": dry_run, "pruned": pruned})
    elif pruned is None:
        for id in ids:
            write(id)
        say(f"{counted(len(ids), 'run')} would go; nothing was removed")
    else:
        artifacts = f"{counted(pruned.swept.artifacts, 'artifact')} ({pruned.swept.size:,} bytes)"
        entries = counted(pruned.entries, "entry", "entries")
        say(f"{counted(pruned.runs, 'run')} pruned: {entries} and {artifacts} removed")


async def _prune(folder: Path, age: float, dry_run: bool) -> tuple[list[RunRow], Pruned | None]:
    from folkmoot.cli.counting import counting
    from folkmoot.cli.records import opened
    from folkmoot.domain.run_row import ENDED
    from folkmoot.engine.clock import SystemClock
    from folkmoot.engine.runs import prunable, prune, run_list
    from folkmoot.ports import RunQuery

    clock = SystemClock()
    async with opened(folder, readonly=dry_run) as journal:
        rows = prunable(await run_list(journal, RunQuery(statuses=ENDED)), clock, age)
        if dry_run:
            return rows, None
        with counting("pruning", "runs") as told:
            return rows, await prune(journal, rows, clock, told)
