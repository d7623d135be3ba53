"""`folkmoot runs`: what ran, how it went, and how to stop it or go on with it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from folkmoot.cli import prune
from folkmoot.cli.call import AsJson, Call, Quiet, Target, Wait, call_of, finished
from folkmoot.cli.complete import run_names
from folkmoot.errors import FolkmootError, Held, OperationFailed

app = typer.Typer(help="What ran, how it went, and how to stop it or go on with it.", no_args_is_help=True)

RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run's id, the beginning of one, or `last`.",
        autocompletion=run_names,
        show_default=False,
    ),
]


@app.command("list")
def list_runs(context: typer.Context, as_json: AsJson = False) -> None:
    """List all runs of the project, newest first.

    \b
    Examples:
      folkmoot runs list
      folkmoot runs list --json
    """
    from folkmoot.cli.amounts import between, moment
    from folkmoot.cli.output import STYLES, say, write_json, write_table
    from folkmoot.cli.records import all_runs
    from folkmoot.cli.shown import in_one_line

    folder = call_of(context).folder
    rows = finished(all_runs(folder))
    if as_json:
        write_json(rows)
    elif not rows:
        say(f"nothing has run in {folder} yet")
    else:
        write_table(
            ("run", "status", "started", "took", "agent", "asked"),
            (
                (
                    row.run_id,
                    (row.status, STYLES.get(row.status, "")),
                    moment(row.started_at),
                    between(row.started_at, row.ended_at),
                    row.agent,
                    in_one_line(row.request, 200),
                )
                for row in rows
            ),
        )


app.command()(prune.prune)


@app.command()
def show(
    context: typer.Context,
    run: RunName,
    bundle: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Look into a bundle instead of the project's journal.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show one run: agents, turns, tools, failures, cost and report.

    Also who holds it now, and whether its record is whole; the exit code is 1 if it is not.

    \b
    Examples:
      folkmoot runs show last
      folkmoot runs show 20260101-101500 --json
      folkmoot runs show last --bundle run.zip
    """
    from folkmoot.cli.output import write_json
    from folkmoot.cli.records import read_record
    from folkmoot.cli.showing import as_document, write_record

    call = call_of(context)
    record = finished(read_record(call.folder, run, bundle))
    if as_json:
        write_json(as_document(record))
    else:
        write_record(record, _trace(call, record.result.trace))
    return 1 if record.damage else 0


@app.command()
def audit(context: typer.Context, run: RunName, as_json: AsJson = False) -> int:
    """Find what cannot be traced: transfers that were not kept, actions that belong to no plan.

    The exit code is 1 if there is anything.

    \b
    Examples:
      folkmoot runs audit last
    """
    from folkmoot.cli.output import write, write_json
    from folkmoot.cli.records import read_record
    from folkmoot.views.plans import audit

    record = finished(read_record(call_of(context).folder, run))
    found = audit(record.drafts)
    if as_json:
        write_json(found)
    else:
        for orphan in found.orphans:
            write(orphan)
        write(
            f"{found.transfers} transfers, {found.actions} actions by a plan, {found.snapshots} snapshots, "
            f"{len(found.orphans)} orphans"
        )
    return 1 if found.orphans else 0


@app.command()
def cancel(
    context: typer.Context,
    run: RunName,
    reason: Annotated[str, typer.Option(help="Kept with the run.")] = "cancelled by its user",
    as_json: AsJson = False,
) -> None:
    """Stop a run, whichever process runs it.

    Returns when the stop is acknowledged: from then on no model request and no tool call starts.

    \b
    Examples:
      folkmoot runs cancel last
      folkmoot runs cancel 20260101-101500 --reason "wrong customer"
    """
    from folkmoot.cli.output import say, write_json

    run_id = finished(_cancel(call_of(context).folder, run, reason))
    if as_json:
        write_json({"runId": run_id, "status": "cancelled"})
    else:
        say(f"run {run_id} is stopped: no model request and no tool call starts any more")


@app.command()
def resume(
    context: typer.Context,
    run: RunName,
    as_json: AsJson = False,
    quiet: Quiet = False,
    wait: Wait = False,
    current: Annotated[
        bool,
        typer.Option(
            "--with-current-files", help="From here on use the files as they are now; that is recorded."
        ),
    ] = False,
) -> int:
    """Go on with a run that was interrupted or waited for someone, in this process.

    Nothing that is recorded is done or paid for again. A run that is over is only printed. It goes on with the
    files that it was started with, unless you say otherwise.

    \b
    Examples:
      folkmoot runs resume last
      folkmoot runs resume last --with-current-files
    """
    return go_on(call_of(context), run, as_json=as_json, quiet=quiet, wait=wait, current=current)


def go_on(call: Call, run: str, *, as_json: bool, quiet: bool, wait: bool, current: bool = False) -> int:
    from folkmoot.cli.ending import finish
    from folkmoot.cli.perform import perform
    from folkmoot.cli.records import called, read_record

    record = finished(read_record(call.folder, run))
    result, run_id = record.result, record.row.run_id
    if record.owner:
        raise OperationFailed(
            f"run {run_id} is in the hands of {called(record.owner)}; wait for it, or stop it with:"
            f" folkmoot runs cancel {run_id}"
        )
    if result.status in ("interrupted", "queued", "waiting"):
        target = Target(folder=call.folder, agent=record.row.agent)
        try:
            result = perform(
                call,
                target,
                lambda moot, hear, answer: moot.resume(
                    run_id, hear=hear, answer=answer, wait=wait, with_current_files=current
                ),
                quiet=quiet,
                run_id=run_id,
                pinned="" if current else run_id,
            )
        except Held as held:
            raise OperationFailed(f"run {run_id} is in the hands of {called(held.owner)} by now") from None
    return finish(result, as_json=as_json, quiet=quiet)


def _trace(call: Call, trace: str) -> str:
    """What a run is called in OpenTelemetry and where it is seen there, if the project sends its runs there."""
    from folkmoot.domain.trace import trace_url
    from folkmoot.engine.workshop import load_project

    with suppress(FolkmootError):  # a run is shown whatever became of its files
        sinks = load_project(call.folder, overrides=call.overrides).graph.settings.sinks.values()
        if any(sink.kind == "otel" for sink in sinks):
            return f"{trace} {trace_url(sinks, trace)}".strip()
    return ""


async def _cancel(folder: Path, name: str, reason: str) -> str:
    from folkmoot.cli.records import opened
    from folkmoot.engine.clock import SystemClock
    from folkmoot.engine.commands import CancelRun
    from folkmoot.engine.local import LocalEngine
    from folkmoot.engine.runs import find_run

    async with opened(folder, readonly=False) as journal:
        run_id = (await find_run(journal, name)).run_id
        await LocalEngine(journal, SystemClock()).send(run_id, CancelRun(reason))
        return run_id
