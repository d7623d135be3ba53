"""The list of runs: one row each, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from folkmoot.domain.entry import Entry
from folkmoot.domain.events import (
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunParked,
    RunPruned,
    RunStarted,
)
from folkmoot.domain.fork_events import RunForked
from folkmoot.domain.value import Value

DECISIONS = (
    "question.answered",
    "client.answered",
    "approval.approved",
    "approval.denied",
    "approval.revoked",
    "approval.expired",
    "tool.settled",
)
"""The events after which a run that was parked is under way again."""


class RunRow(Value, omit_defaults=False):
    run_id: str
    agent: str
    """The root agent's file."""
    status: str
    started_at: str
    request: str
    ended_at: str | None = None
    error: str | None = None


def run_rows(entries: Iterable[Entry], under_way: Mapping[str, str]) -> list[RunRow]:
    """`under_way` says which runs are `running` or `queued`; another one without an end was interrupted."""
    rows: dict[str, RunRow] = {}
    for entry in entries:
        draft = entry.draft
        match draft.event:
            case RunStarted() as event:
                status = under_way.get(entry.stream, "interrupted")
                row = RunRow(entry.stream, event.agent, status, draft.ts, event.request)
                rows[entry.stream] = row
            case RunForked():  # what stands before it happened to another run, maybe long ago
                rows[entry.stream] = replace(rows[entry.stream], started_at=draft.ts)
            case RunCompleted():
                _end(rows, entry, "completed")
            case RunFailed(error=error):
                _end(rows, entry, "failed", error)
            case RunCancelled(reason=reason):
                _end(rows, entry, "cancelled", reason)
            case RunPruned(agent=agent, started_at=started, ended_at=ended):
                rows[entry.stream] = RunRow(entry.stream, agent, "pruned", started, "", ended)
            case RunParked() if under_way.get(entry.stream) != "running":
                _end(rows, entry, "waiting")
            case event if event.type in DECISIONS:
                _go_on(rows, entry, under_way)
    # A tombstone stands where its run was pruned; of runs that began at once the later one comes first.
    return sorted(reversed(rows.values()), key=lambda row: row.started_at, reverse=True)


def _go_on(rows: dict[str, RunRow], entry: Entry, under_way: Mapping[str, str]) -> None:
    if (row := rows.get(entry.stream)) and row.status == "waiting":
        status = under_way.get(entry.stream, "interrupted")
        rows[entry.stream] = RunRow(row.run_id, row.agent, status, row.started_at, row.request)


def _end(rows: dict[str, RunRow], entry: Entry, status: str, error: str | None = None) -> None:
    if row := rows.get(entry.stream):
        rows[entry.stream] = RunRow(
            row.run_id, row.agent, status, row.started_at, row.request, entry.draft.ts, error
        )
