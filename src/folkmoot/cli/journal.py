"""`folkmoot journal` and `projections`: the journal as a whole, and the files and tables that follow from it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from folkmoot.cli.call import AsJson, get_global_options, run_async
from folkmoot.cli.log import verify_file, write_verdict
from folkmoot.cli.output import counted, show_progress, write, write_json, write_stderr
from folkmoot.cli.project import open_existing_journal, require_runs
from folkmoot.coordination.moot import Moot
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.outlets import FileDifference
from folkmoot.engine.runs import ImportResult, Installation, find_run, import_runs, read_unfinished_runs
from folkmoot.engine.workshop import load_project, open_journal
from folkmoot.errors import WrongUse
from folkmoot.journal.copies import back_up, open_source
from folkmoot.journal.database import FOLDER
from folkmoot.journal.tables import compare_tables
from folkmoot.loader.project_file import storage_of
from folkmoot.ports import RunQuery


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

    folder = require_runs(get_global_options(context).folder)
    _require_sqlite_journal(folder)
    with show_progress("copying", "percent") as told:
        size = back_up(folder, file, lambda part: told(round(part * 100)))
    verdict = run_async(verify_file(file))
    entries = verdict.counts["entries"]
    if as_json:
        write_json({"file": str(file), "size": size, "entries": entries, "holds": verdict.holds})
    elif verdict.holds:
        write_stderr(f"{file}: {counted(entries, 'entry', 'entries')}, {size:,} bytes; every guarantee holds")
    else:
        write_verdict(verdict)
    return 0 if verdict.holds else 1


def _require_sqlite_journal(folder: Path) -> None:

    storage = storage_of(folder, os.environ)
    if storage.url:
        raise WrongUse(
            f"this journal lies in PostgreSQL ({storage.shown}), which copies it itself:"
            f" pg_dump --schema='\"{storage.schema}\"'; one file that any project can import is written by"
            " `folkmoot log export --bundle FILE`"
        )


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

    adopted = run_async(_adopt(get_global_options(context).folder, runs or []))
    if as_json:
        write_json([{"runId": run, "status": "adopted"} for run in adopted])
        return
    write_stderr(
        f"{counted(len(adopted), 'run')} adopted"
        + "".join(f"\n  folkmoot runs resume {run}" for run in adopted)
    )


async def _adopt(folder: Path, names: list[str]) -> list[str]:

    async with open_existing_journal(folder, readonly=False) as journal:
        unfinished = await read_unfinished_runs(journal)
        wanted = [(await find_run(journal, name)).run_id for name in names] or list(unfinished)
        chosen = {run: unfinished[run] for run in wanted if run in unfinished}
        return await Installation(journal).adopt(SystemClock(), chosen)


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

    runs, differing = run_async(_rebuild(get_global_options(context).folder, check=check))
    if as_json:
        write_json({"runs": runs, "differing": differing})
    elif differing:
        write_stderr(f"the rows of {counted(len(differing), 'run')} differ: {', '.join(differing[:5])}")
    else:
        write_stderr(f"{counted(runs, 'run')}: the tables follow from the entries")
    return 1 if differing else 0


async def _rebuild(folder: Path, *, check: bool) -> tuple[int, list[str]]:

    async with open_existing_journal(folder, readonly=check) as journal:
        if not check:
            await journal.rebuild()
        return await journal.count_runs(RunQuery()), await compare_tables(journal) if check else []


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

    done = run_async(_import(get_global_options(context).folder, file))
    if as_json:
        write_json(done)
    else:
        entries = counted(done.entries, "entry", "entries")
        write_stderr(
            f"{counted(done.runs, 'run')} imported, {entries}; {counted(done.known, 'run')} known before"
        )


async def _import(folder: Path, file: Path) -> ImportResult:

    source = open_source(file)
    try:
        if not source.artifacts:
            raise WrongUse(f"{file} holds no artifacts; import a backup or a bundle (`log export --bundle`)")
        journal = open_journal(folder)
        try:
            with show_progress("checking") as told:
                return await import_runs(journal, source, told)
        finally:
            await journal.close()
    finally:
        await source.close()


def projections(
    context: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Only say what is behind; exit 1 if anything is.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """They are written by themselves when a record changes; editing one changes nothing but the file.

    \b
    Examples:
      folkmoot projections
      folkmoot projections --check
    """

    behind = run_async(_update_projections(get_global_options(context).folder, check=check))
    if as_json:
        write_json({"changed": behind.changed, "gone": behind.gone})
    else:
        for path in (*behind.changed, *behind.gone):
            write(f"{'missing or old' if path in behind.changed else 'without a record'}: {path}")
        count = counted(len(behind.changed) + len(behind.gone), "file")
        write(f"{count} {'behind the journal' if check else 'brought up to the journal'}")
    return 1 if check and (behind.changed or behind.gone) else 0


async def _update_projections(folder: Path, *, check: bool) -> FileDifference:
    """Looks at the journal alone: an open project would write the files by itself."""
    from folkmoot.engine.outlets import find_file_differences, render_record_files, update_files

    async with open_existing_journal(folder) as journal:
        wanted = await render_record_files(Moot(journal, SystemClock(), load_project(folder).graph))
    return (find_file_differences if check else update_files)(folder / FOLDER, wanted)


COMMANDS = (backup, adopt, rebuild, import_)
