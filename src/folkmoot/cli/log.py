"""`folkmoot log`: the journal, as programs read it."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from folkmoot.cli.call import call_of, finished
from folkmoot.cli.complete import run_names
from folkmoot.errors import WrongUse

app = typer.Typer(help="The journal, as programs read it.", no_args_is_help=True)


@app.callback()
def _log() -> None:
    """The journal, as programs read it."""


@app.command()
def export(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="Only this run: its id, the beginning of one, or `last`.",
            autocompletion=run_names,
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
    folder = call_of(context).folder
    if bundle:
        if output:
            raise WrongUse("--output and --bundle do not go together; name one of them")
        finished(_bundle(folder, run, bundle))
        return
    with ExitStack() as stack:
        finished(_export(folder, run, _target(output, stack)))


def _target(output: Path | None, stack: ExitStack) -> BinaryIO:
    if output is None:
        return sys.stdout.buffer
    try:
        return stack.enter_context(output.open("wb"))
    except OSError as error:
        raise WrongUse(f"cannot write {str(output)!r}: {error.strerror}") from None


async def _export(folder: Path, run: str | None, target: BinaryIO) -> None:
    from folkmoot.cli.records import opened
    from folkmoot.cli.shown import escaped
    from folkmoot.engine.runs import find_run
    from folkmoot.journal.codec import to_line
    from folkmoot.ports import Query

    async with opened(folder) as journal:
        stream = (await find_run(journal, run)).run_id if run else ""
        async for entry in journal.read(Query(stream=stream)):
            line = to_line(entry)
            target.write(escaped(line.decode()).encode() if target.isatty() else line)
    target.flush()


async def _bundle(folder: Path, run: str | None, target: Path) -> None:
    from folkmoot.cli.amounts import counted
    from folkmoot.cli.output import say
    from folkmoot.cli.records import opened
    from folkmoot.engine.runs import find_run
    from folkmoot.journal.copies import write_bundle

    async with opened(folder) as journal:
        runs = [(await find_run(journal, run)).run_id] if run else []
        manifest = await write_bundle(journal, runs, target)
    counts = counted(len(manifest.runs), "run"), counted(manifest.artifacts, "artifact")
    say(f"{target}: {counts[0]}, {counts[1]}; prompts, answers and tool results are in it")
