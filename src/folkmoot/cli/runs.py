"""`folkmoot runs`: what ran, how it went, and how old runs go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from folkmoot.cli.call import AsJson, GlobalOptions, get_global_options, run_async
from folkmoot.cli.commands import TerminalOptions
from folkmoot.cli.failure import describe_run_totals, list_unverified_claims, write_report
from folkmoot.cli.output import (
    STYLES,
    counted,
    format_elapsed,
    format_local_time,
    format_one_line,
    show_progress,
    write,
    write_json,
    write_stderr,
    write_table,
)
from folkmoot.cli.project import open_existing_journal
from folkmoot.cli.run import describe_owner, fork, resume
from folkmoot.domain.duration import seconds
from folkmoot.domain.events import RunForked, RunPruned
from folkmoot.domain.report import Report
from folkmoot.domain.run_row import ENDED, RunRow
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.runs import list_runs
from folkmoot.errors import WrongUse
from folkmoot.operations.operation import Operation
from folkmoot.operations.runs import OPERATIONS, ListRuns, RunRecord, ShowRun, read_record
from folkmoot.ports import RunQuery
from folkmoot.views.difference import Difference
from folkmoot.views.figures import spent
from folkmoot.views.inbox import what_it_needs
from folkmoot.views.optree import outline
from folkmoot.views.plans import Audit
from folkmoot.views.run_tree import RunTree

_IDLE = 60.0
"""Seconds from which it is said that a run was idle; that it waited for somebody is always said."""


def present(operation: Operation[Any], output: Any) -> None:
    match operation, output:
        case ListRuns(), _ if not output.rows:
            write_stderr("nothing has run here yet")
        case ListRuns(), _:
            write_table(("run", "status", "started", "took", "agent", "asked"), map(_cells, output.rows))
        case _, RunRecord():
            _write_record(output)
        case _, Audit():
            for orphan in output.orphans:
                write(orphan)
            counts = f"{output.actions} actions by a plan, {output.snapshots} snapshots"
            write(f"{output.transfers} transfers, {counts}, {len(output.orphans)} orphans")
        case _, Difference():
            write(str(output.first) if output.first else "both runs did the same")
            if output.changes:
                write_table(("", "A", "B"), [(change.name, change.a, change.b) for change in output.changes])
        case _ if hasattr(output, "state_hash"):
            _write_replay(output)
        case _:
            write_stderr(f"run {output.run_id} is stopped: no model request and no tool call starts any more")


def _cells(row: RunRow) -> tuple[Any, ...]:
    took, asked = format_elapsed(row.started_at, row.ended_at), format_one_line(row.request, 200)
    return (
        row.run_id,
        (row.status, STYLES.get(row.status, "")),
        format_local_time(row.started_at),
        took,
        row.agent,
        asked,
    )


def _write_replay(replayed: Any) -> None:
    if replayed.equal:
        write(f"replayed {replayed.events} events, state hash {replayed.state_hash[:16]}, equal")
        if replayed.ends:
            write_stderr(replayed.ends)
    else:
        write(f"replayed {replayed.events} of {replayed.recorded} events, then it went another way:")
        write(f"  {replayed.divergence}")


def _write_record(record: RunRecord) -> None:
    row, result, style = record.row, record.result, STYLES[record.row.status]
    write(f"run {row.run_id}", "bold")
    if row.status == "pruned":
        _write_tombstone(record)
        return
    write(
        f"  {describe_run_totals(row.status, result.totals, format_elapsed(row.started_at, row.ended_at))}",
        style,
    )
    write(f"  asked    {row.agent}: {format_one_line(row.request, 200)}")
    write(f"  started  {format_local_time(row.started_at)}")
    times = RunTree(record.drafts).measure(
        SystemClock().now() if row.status in ("running", "waiting") else ""
    )
    if times.waiting or times.idle >= _IDLE:
        write(f"  time     {spent(*times)}")
    for draft in record.drafts:
        if isinstance(draft.event, RunForked):
            write(f"  forked   from {draft.event.source}, entry {draft.event.at}")
    _write_owner(record)
    if record.traces is not None:
        write(f"  trace    {result.trace} {record.traces}".rstrip())
    count = counted(len(record.drafts), "event")
    write(f"  journal  {count}, {_describe_hash_chain(record)}", "bold red" if record.damage else "")
    write()
    for line in outline(result.op_tree, unended=record.unended) if result.op_tree else ():
        write("  " * (line.depth + 1) + format_one_line(line.text), _style(line.status))
    write()
    if row.error:
        write(f"{row.status}: {row.error}", style)
    elif result.final_report:
        write_report(result.final_report)
        _write_claims(result.final_report)


def _write_owner(record: RunRecord) -> None:
    """Who has it now, or what it needs to go on."""
    row = record.row
    if record.owner:
        write(f"  held by  {describe_owner(record.owner)}")
    elif label := record.bound_to if row.status in ("queued", "interrupted") else "":
        write(f"  held by  nobody; it has used a working folder and waits for a worker with --label {label}")
    elif row.status == "queued":
        write("  held by  nobody; the next worker that has room takes it: see `folkmoot doctor`")
    elif row.status == "interrupted":
        write(f"  held by  nobody; to go on: folkmoot runs resume {row.run_id}")
    elif row.status == "waiting":
        for number, need in enumerate(what_it_needs(record.result)):
            write(f"  {'' if number else 'waits':9}{need}", STYLES[row.status])


def _write_claims(report: Report) -> None:
    if report.claims:
        write()
    for claim in report.claims:
        if claim.status == "verified":
            write(format_one_line(f"verified: {claim.text} ({', '.join(claim.evidence)})"), STYLES["ok"])
    for line in list_unverified_claims(report):
        write(line, STYLES["warning"])


def _write_tombstone(record: RunRecord) -> None:
    row, tombstone = record.row, record.drafts[-1]
    assert isinstance(tombstone.event, RunPruned)
    write(f"  pruned {format_local_time(tombstone.ts)}; only this is left of it", STYLES["pruned"])
    write(f"  asked    {row.agent}")
    ended = format_local_time(tombstone.event.ended_at)
    write(f"  started  {format_local_time(row.started_at)}, {tombstone.event.status} {ended}")
    write(f"  journal  {_describe_hash_chain(record)}", "bold red" if record.damage else "")


def _describe_hash_chain(record: RunRecord) -> str:
    return f"hash chain broken: {record.damage}" if record.damage else "hash chain intact"


def _style(status: str) -> str:
    return {"failed": "red", "completed": ""}.get(status, STYLES.get(status, ""))


def _read_bundle_option(
    bundle: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Look into a bundle instead of the project's journal.")
    ] = None,
) -> dict[str, Any]:
    return {}


def _show_from_bundle(call: GlobalOptions, wanted: ShowRun, as_json: bool, *, bundle: Path) -> int:
    """The runs of a bundle, as if they were this project's."""
    from folkmoot.journal.copies import open_bundle

    async def read() -> RunRecord:
        return await read_record(await open_bundle(bundle), wanted.id)

    record = run_async(read())
    write_json(wanted.document(record)) if as_json else _write_record(record)
    return wanted.exit_code(record)


TERMINAL_OPTIONS = {ShowRun: TerminalOptions(_read_bundle_option, _show_from_bundle, when=("bundle",))}


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
    age = seconds(older_than)
    if age is None:
        raise WrongUse(f"--older-than takes a time such as 30d, 12h or 90m, not {older_than!r}")
    rows, pruned = run_async(_prune(get_global_options(context), age, dry_run))
    ids = [row.run_id for row in rows]
    if as_json:
        write_json({"runs": ids, "dryRun": dry_run, "pruned": pruned})
    elif pruned is None:
        for id in ids:
            write(id)
        write_stderr(f"{counted(len(ids), 'run')} would go; nothing was removed")
    else:
        artifacts = f"{counted(pruned.swept.artifacts, 'artifact')} ({pruned.swept.size:,} bytes)"
        entries = counted(pruned.entries, "entry", "entries")
        write_stderr(f"{counted(pruned.runs, 'run')} pruned: {entries} and {artifacts} removed")


async def _prune(call: GlobalOptions, age: float, dry_run: bool) -> tuple[list[RunRow], Any]:
    from folkmoot.engine.runs import prune_runs, select_prunable

    clock = SystemClock()
    async with open_existing_journal(call.folder, readonly=dry_run) as journal:
        rows = select_prunable(await list_runs(journal, RunQuery(statuses=ENDED)), clock, age)
        if dry_run:
            return rows, None
        with show_progress("pruning", "runs") as told:
            return rows, await prune_runs(journal, rows, clock, told)


COMMANDS = (*OPERATIONS, resume, fork, prune)
