"""`folkmoot log`, `events` and `verify`: what is recorded, as programs read it, as people look for it, and checked."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, BinaryIO, get_args

import typer

from folkmoot.cli.call import AsJson, get_global_options, run_async
from folkmoot.cli.commands import TerminalOptions, complete_run_name
from folkmoot.cli.output import (
    counted,
    redact_and_escape,
    show_progress,
    write,
    write_json,
    write_stderr,
    write_table,
)
from folkmoot.cli.project import open_existing_journal
from folkmoot.contract.folds import TITLES, Fault
from folkmoot.contract.verify import Verification
from folkmoot.domain.entry import Entry, Role
from folkmoot.engine.runs import find_run
from folkmoot.errors import NotFound, WrongUse
from folkmoot.journal.codec import to_line
from folkmoot.journal.copies import open_source, write_bundle
from folkmoot.operations.events import ListEvents
from folkmoot.operations.operation import Operation, RowPage
from folkmoot.ports import Query
from folkmoot.views.timeline import event_row


def verify(
    context: typer.Context,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN|FILE",
            help="A run, or a backup, a bundle or an exported log; otherwise the whole journal of the project.",
            autocompletion=complete_run_name,
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Says what was checked, and each place at which a guarantee does not hold; the exit code is then 1.

    \b
    Examples:
      folkmoot verify
      folkmoot verify last
      folkmoot verify run.zip --json
    """

    file = Path(what) if what and Path(what).is_file() else None
    verdict = run_async(
        verify_file(file) if file else _verify_journal(get_global_options(context).folder, what)
    )
    if as_json:
        write_json(verdict.to_json())
    else:
        write_verdict(verdict)
    return 0 if verdict.holds else 1


def write_verdict(verdict: Verification) -> None:

    for guarantee, words in verdict.checked():
        faults = verdict.by_guarantee[guarantee]
        count = f"; {counted(faults, 'violation')}" if faults else ""
        write(f"{guarantee} {TITLES[guarantee]:11}{words}{count}", "bold red" if faults else "")
    for fault in verdict.faults:
        write(f"  {_describe_fault(fault)}", "red")
    for note in verdict.notes:
        write(f"  {_describe_fault(note)}", "yellow")
    untold = sum(verdict.by_guarantee.values()) - len(verdict.faults)
    if untold:
        write(f"  … and {untold:,} more", "red")
    write("every guarantee holds" if verdict.holds else "not every guarantee holds", "bold")


def _describe_fault(fault: Fault) -> str:
    entry = f" ({fault.id[:12]})" if fault.id else ""
    return f"{fault.guarantee} {fault.run_id or 'the journal'}, event {fault.run_seq}{entry}: {fault.words}"


async def _verify_journal(folder: Path, what: str | None) -> Verification:
    from folkmoot.contract.verify import verify

    with show_progress("checking") as told:
        async with open_existing_journal(folder) as journal:
            stream = (await find_run(journal, what)).run_id if what else ""
            return await verify(journal, stream, told=told)


async def verify_file(file: Path) -> Verification:
    from folkmoot.contract.verify import verify

    source = open_source(file)
    try:
        with show_progress("checking") as told:
            return await verify(source, artifacts=source.artifacts, told=told)
    finally:
        await source.close()


def export(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="Only this run: its id, the beginning of one, or `last`.",
            autocompletion=complete_run_name,
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead of stdout.")
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one file with the artifacts too, for another machine."),
    ] = None,
) -> None:
    """Write every event as one line of JSON (NDJSON), in order, with the hashes that chain them.

    With --bundle, the events and the artifacts they name become one file that another machine can show, verify and
    import. Prompts, answers and tool results are in it; keys never are.

    \b
    Examples:
      folkmoot log export last | jq -r .type
      folkmoot log export -o journal.ndjson
      folkmoot log export last --bundle run.zip
    """
    folder = get_global_options(context).folder
    if bundle:
        if output:
            raise WrongUse("--output and --bundle do not go together; name one of them")
        run_async(_export_bundle(folder, run, bundle))
        return
    with ExitStack() as stack:
        run_async(_export(folder, run, _open_output(output, stack)))


def _open_output(output: Path | None, stack: ExitStack) -> BinaryIO:
    if output is None:
        return sys.stdout.buffer
    try:
        return stack.enter_context(output.open("wb"))
    except OSError as error:
        raise WrongUse(f"cannot write {str(output)!r}: {error.strerror}") from None


async def _export(folder: Path, run: str | None, target: BinaryIO) -> None:

    async with open_existing_journal(folder) as journal:
        stream = (await find_run(journal, run)).run_id if run else ""
        async for entry in journal.read(Query(stream=stream)):
            line = to_line(entry)
            target.write(redact_and_escape(line.decode()).encode() if target.isatty() else line)
    target.flush()


async def _export_bundle(folder: Path, run: str | None, target: Path) -> None:

    async with open_existing_journal(folder) as journal:
        runs = [(await find_run(journal, run)).run_id] if run else []
        manifest = await write_bundle(journal, runs, target)
    counts = counted(len(manifest.runs), "run"), counted(manifest.artifacts, "artifact")
    write_stderr(f"{target}: {counts[0]}, {counts[1]}; prompts, answers and tool results are in it")


LOG = (export,)


def present(operation: Operation[Any], output: RowPage[Entry]) -> None:
    rows = [
        (str(row.seq), row.ts, row.type, row.agent, row.place, row.said)
        for row in map(event_row, output.rows)
    ]
    if rows:
        write_table(("seq", "time", "type", "agent", "in", "what"), reversed(rows))
    else:
        write_stderr("there are no such events")


def _read_role_option(
    role: Annotated[
        str, typer.Option(metavar="ROLE", help="Of one role: `orchestration.task`, or its beginning.")
    ] = "",
) -> dict[str, Any]:
    known: tuple[str, ...] = get_args(Role)
    fitting = [each for each in known if each.startswith(role)]
    if role and len(fitting) != 1:
        raise NotFound(f"there is no role {role!r}; there are {', '.join(known)}", code="role_not_found")
    return {"role": fitting[0]} if role else {}


TERMINAL_OPTIONS = {ListEvents: TerminalOptions(_read_role_option)}
