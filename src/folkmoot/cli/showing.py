"""One run on the screen, from its record."""

from __future__ import annotations

from typing import Any

from folkmoot.cli.amounts import between, counted, moment
from folkmoot.cli.ending import summary, unverified, write_report
from folkmoot.cli.output import STYLES, write
from folkmoot.cli.records import Record, called
from folkmoot.cli.shown import in_one_line
from folkmoot.domain.events import RunForked, RunPruned
from folkmoot.domain.report import Report
from folkmoot.engine.clock import SystemClock
from folkmoot.orchestration.history import RunHistory
from folkmoot.views.activity import measure
from folkmoot.views.figures import spent
from folkmoot.views.inbox import what_it_needs
from folkmoot.views.optree import outline

_IDLE = 60.0
"""Seconds from which it is said that a run was idle; that it waited for somebody is always said."""


def as_document(record: Record) -> dict[str, Any]:
    """The result, with who holds the run and whether its record is whole."""
    journal = {"events": len(record.drafts), "intact": not record.damage, "error": record.damage or None}
    return {
        **record.result.to_json(),
        "status": record.row.status,
        "agent": record.row.agent,
        "request": record.row.request,
        "startedAt": record.row.started_at,
        "endedAt": record.row.ended_at,
        "heldBy": record.owner or None,
        "boundTo": RunHistory(record.drafts).label or None,
        "journal": journal,
        "traceId": record.result.trace,
    }


def write_record(record: Record, trace: str = "") -> None:
    """`trace` says what it is called in OpenTelemetry."""
    row, result, style = record.row, record.result, STYLES[record.row.status]
    write(f"run {row.run_id}", "bold")
    if row.status == "pruned":
        _write_tombstone(record)
        return
    write(
        f"  {summary(row.status, result.totals, between(row.started_at, row.ended_at))}",
        style,
    )
    write(f"  asked    {row.agent}: {in_one_line(row.request, 200)}")
    write(f"  started  {moment(row.started_at)}")
    times = measure(record.drafts, SystemClock().now() if row.status in ("running", "waiting") else "")
    if times.waiting or times.idle >= _IDLE:
        write(f"  time     {spent(*times)}")
    for draft in record.drafts:
        if isinstance(draft.event, RunForked):
            write(f"  forked   from {draft.event.source}, entry {draft.event.at}")
    _write_holder(record)
    if trace:
        write(f"  trace    {trace}")
    count = counted(len(record.drafts), "event")
    write(f"  journal  {count}, {_chain(record)}", "bold red" if record.damage else "")
    write()
    for line in outline(result.op_tree, unended=record.unended) if result.op_tree else ():
        write("  " * (line.depth + 1) + in_one_line(line.text), _style(line.status))
    write()
    if row.error:
        write(f"{row.status}: {row.error}", style)
    elif result.final_report:
        write_report(result.final_report)
        _write_claims(result.final_report)


def _write_holder(record: Record) -> None:
    """Who has it now, or what it needs to go on."""
    row = record.row
    if record.owner:
        write(f"  held by  {called(record.owner)}")
    elif label := RunHistory(record.drafts).label if row.status in ("queued", "interrupted") else "":
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
            write(in_one_line(f"verified: {claim.text} ({', '.join(claim.evidence)})"), STYLES["ok"])
    for line in unverified(report):
        write(line, STYLES["warning"])


def _write_tombstone(record: Record) -> None:
    row, tombstone = record.row, record.drafts[-1]
    assert isinstance(tombstone.event, RunPruned)
    write(f"  pruned {moment(tombstone.ts)}; only this is left of it", STYLES["pruned"])
    write(f"  asked    {row.agent}")
    write(f"  started  {moment(row.started_at)}, {tombstone.event.status} {moment(tombstone.event.ended_at)}")
    write(f"  journal  {_chain(record)}", "bold red" if record.damage else "")


def _chain(record: Record) -> str:
    return f"hash chain broken: {record.damage}" if record.damage else "hash chain intact"


def _style(status: str) -> str:
    return {"failed": "red", "completed": ""}.get(status, STYLES.get(status, ""))
