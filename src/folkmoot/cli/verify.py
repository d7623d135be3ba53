"""`folkmoot verify`: whether what is recorded keeps every promise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, call_of, finished
from folkmoot.cli.complete import run_names

if TYPE_CHECKING:
    from folkmoot.contract.folds import Fault
    from folkmoot.contract.verify import Verification


def verify(
    context: typer.Context,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN|FILE",
            help="A run, or a backup, a bundle or an exported log; otherwise the whole journal of the project.",
            autocompletion=run_names,
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Check the guarantees C1 to C7 on what is recorded, without running anything.

    Says what was checked, and each place at which a guarantee does not hold; the exit code is then 1.

    \b
    Examples:
      folkmoot verify
      folkmoot verify last
      folkmoot verify run.zip --json
    """
    from folkmoot.cli.output import write_json

    file = Path(what) if what and Path(what).is_file() else None
    verdict = finished(checked_file(file) if file else _checked(call_of(context).folder, what))
    if as_json:
        write_json(verdict.to_json())
    else:
        write_verdict(verdict)
    return 0 if verdict.holds else 1


def write_verdict(verdict: Verification) -> None:
    from folkmoot.cli.amounts import counted
    from folkmoot.cli.output import write
    from folkmoot.contract.folds import TITLES

    for guarantee, words in verdict.checked():
        faults = verdict.by_guarantee[guarantee]
        count = f"; {counted(faults, 'violation')}" if faults else ""
        write(f"{guarantee} {TITLES[guarantee]:11}{words}{count}", "bold red" if faults else "")
    for fault in verdict.faults:
        write(f"  {_told(fault)}", "red")
    for note in verdict.notes:
        write(f"  {_told(note)}", "yellow")
    untold = sum(verdict.by_guarantee.values()) - len(verdict.faults)
    if untold:
        write(f"  … and {untold:,} more", "red")
    write("every guarantee holds" if verdict.holds else "not every guarantee holds", "bold")


def _told(fault: Fault) -> str:
    entry = f" ({fault.id[:12]})" if fault.id else ""
    return f"{fault.guarantee} {fault.run_id or 'the journal'}, event {fault.run_seq}{entry}: {fault.words}"


async def _checked(folder: Path, what: str | None) -> Verification:
    from folkmoot.cli.counting import counting
    from folkmoot.cli.records import opened
    from folkmoot.contract.verify import verify
    from folkmoot.engine.runs import find_run

    with counting("checking") as told:
        async with opened(folder) as journal:
            stream = (await find_run(journal, what)).run_id if what else ""
            return await verify(journal, stream, told=told)


async def checked_file(file: Path) -> Verification:
    from folkmoot.cli.counting import counting
    from folkmoot.contract.verify import verify
    from folkmoot.journal.copies import open_source

    source = open_source(file)
    try:
        with counting("checking") as told:
            return await verify(source, artifacts=source.artifacts, told=told)
    finally:
        await source.close()
