"""`folkmoot journal`: the journal as a whole, to another file and from another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, call_of, finished

if TYPE_CHECKING:
    from folkmoot.engine.runs import Imported

app = typer.Typer(help="The journal as a whole: copy it, and take in another one.", no_args_is_help=True)


@app.callback()
def _journal() -> None:
    """The journal as a whole: copy it, and take in another one."""


@app.command()
def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes.", show_default=False)],
    as_json: AsJson = False,
) -> int:
    """Copy the whole journal with its artifacts to FILE, also while runs are under way.

    FILE is there when all of it is on the disk, and not before. The copy is checked; the exit code is 1 if
    something is wrong with it, and so with the journal. A journal in PostgreSQL is copied by `pg_dump`, or as a bundle.

    \b
    Examples:
      folkmoot journal backup ../desk.backup
    """
    from folkmoot.cli.amounts import counted
    from folkmoot.cli.counting import counting
    from folkmoot.cli.output import say, write_json
    from folkmoot.cli.records import require_runs
    from folkmoot.cli.verify import checked_file, write_verdict
    from folkmoot.journal.copies import back_up

    folder = require_runs(call_of(context).folder)
    _require_file(folder)
    with counting("copying", "percent") as told:
        size = back_up(folder, file, lambda part: told(round(part * 100)))
    verdict = finished(checked_file(file))
    entries = verdict.counts["entries"]
    if as_json:
        write_json({"file": str(file), "size": size, "entries": entries, "holds": verdict.holds})
    elif verdict.holds:
        say(f"{file}: {counted(entries, 'entry', 'entries')}, {size:,} bytes; every guarantee holds")
    else:
        write_verdict(verdict)
    return 0 if verdict.holds else 1


def _require_file(folder: Path) -> None:
    import os

    from folkmoot.errors import WrongUse
    from folkmoot.loader.project_file import storage_of

    storage = storage_of(folder, os.environ)
    if storage.url:
        raise WrongUse(
            f"this journal lies in PostgreSQL ({storage.shown}), which copies it itself:"
            f" pg_dump --schema='\"{storage.schema}\"'; one file that any project can import is written by"
            " `folkmoot log export --bundle FILE`"
        )


@app.command()
def adopt(
    context: typer.Context,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Absent: every run that has not ended.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let runs continue here that another installation started.

    Runs of an imported, restored or foreign journal, and those that Folkmoot 0.1 started, can be shown, verified and
    replayed, but do not continue until they are adopted. An adopted run may do what this project is allowed now
    (`folkmoot trust`), whatever it was allowed where it began.

    \b
    Examples:
      folkmoot journal adopt
      folkmoot journal adopt last
    """
    from folkmoot.cli.amounts import counted
    from folkmoot.cli.output import say, write_json

    adopted = finished(_adopt(call_of(context).folder, runs or []))
    if as_json:
        write_json([{"runId": run, "status": "adopted"} for run in adopted])
        return
    say(
        f"{counted(len(adopted), 'run')} adopted"
        + "".join(f"\n  folkmoot runs resume {run}" for run in adopted)
    )


async def _adopt(folder: Path, names: list[str]) -> list[str]:
    from folkmoot.cli.records import opened
    from folkmoot.engine.clock import SystemClock
    from folkmoot.engine.runs import Installation, find_run, unfinished_runs

    async with opened(folder, readonly=False) as journal:
        unfinished = await unfinished_runs(journal)
        wanted = [(await find_run(journal, name)).run_id for name in names] or list(unfinished)
        chosen = {run: unfinished[run] for run in wanted if run in unfinished}
        return await Installation(journal).adopt(SystemClock(), chosen)


@app.command()
def rebuild(
    context: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; compare the tables with the entries.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Make the tables behind lists and look-ups anew from the entries of the journal.

    They are a cache: nothing is lost with them. With --check the exit code is 1 if they differ from the entries.

    \b
    Examples:
      folkmoot journal rebuild
      folkmoot journal rebuild --check
    """
    from folkmoot.cli.amounts import counted
    from folkmoot.cli.output import say, write_json

    runs, differing = finished(_rebuild(call_of(context).folder, check=check))
    if as_json:
        write_json({"runs": runs, "differing": differing})
    elif differing:
        say(f"the rows of {counted(len(differing), 'run')} differ: {', '.join(differing[:5])}")
    else:
        say(f"{counted(runs, 'run')}: the tables follow from the entries")
    return 1 if differing else 0


async def _rebuild(folder: Path, *, check: bool) -> tuple[int, list[str]]:
    from folkmoot.cli.records import opened
    from folkmoot.journal.tables import compare_tables
    from folkmoot.ports import RunQuery

    async with opened(folder, readonly=check) as journal:
        if not check:
            await journal.rebuild()
        return await journal.count_runs(RunQuery()), await compare_tables(journal) if check else []


@app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup or a bundle.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Take the runs of a backup or a bundle into the journal of this project.

    Everything in FILE is checked first, and what was written after. Runs that are here already are left alone; if
    one of the same name is another run, nothing is imported.

    \b
    Examples:
      folkmoot journal import ../desk.backup
      folkmoot journal import run.zip
    """
    from folkmoot.cli.amounts import counted
    from folkmoot.cli.output import say, write_json

    done = finished(_import(call_of(context).folder, file))
    if as_json:
        write_json(done)
    else:
        entries = counted(done.entries, "entry", "entries")
        say(f"{counted(done.runs, 'run')} imported, {entries}; {counted(done.known, 'run')} known before")


async def _import(folder: Path, file: Path) -> Imported:
    from folkmoot.cli.counting import counting
    from folkmoot.engine.runs import import_runs
    from folkmoot.engine.workshop import open_journal
    from folkmoot.errors import WrongUse
    from folkmoot.journal.copies import open_source

    source = open_source(file)
    try:
        if not source.artifacts:
            raise WrongUse(f"{file} holds no artifacts; import a backup or a bundle (`log export --bundle`)")
        journal = open_journal(folder)
        try:
            with counting("checking") as told:
                return await import_runs(journal, source, told)
        finally:
            await journal.close()
    finally:
        await source.close()
