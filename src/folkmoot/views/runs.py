"""The list of runs: one row each, newest first."""

from __future__ import annotations

from collections.abc import Iterable

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


LISTED = (
    "run.started",
    "run.forked",
    "run.completed",
    "run.failed",
    "run.cancelled",
    "run.parked",
    "run.pruned",
    *DECISIONS,
)
"""The events that a row follows from."""


def advance(rows: dict[str, RunRow], entry: Entry) -> None:
    """Take one more entry in. A run that has neither ended nor waits has no status: that depends on who holds it."""
    run, draft = entry.stream, entry.draft
    row = rows.get(run)
    match draft.event:
        case RunStarted(agent=agent, request=request):
            rows[run] = RunRow(run, agent, "", draft.ts, request)
        case RunPruned(agent=agent, started_at=started, ended_at=ended):
            rows.pop(run, None)  # a tombstone stands where its run was pruned
            rows[run] = RunRow(run, agent, "pruned", started, "", ended)
        case RunForked() if row:  # what stands before it happened to another run, maybe long ago
            rows[run] = replace(row, started_at=draft.ts)
        case RunCompleted() if row:
            rows[run] = replace(row, status="completed", ended_at=draft.ts, error=None)
        case RunFailed(error=error) | RunCancelled(reason=error) if row:
            status = "failed" if isinstance(draft.event, RunFailed) else "cancelled"
            rows[run] = replace(row, status=status, ended_at=draft.ts, error=error)
        case RunParked() if row:
            rows[run] = replace(row, status="waiting", ended_at=draft.ts, error=None)
        case event if row and row.status == "waiting" and event.type in DECISIONS:
            rows[run] = replace(row, status="", ended_at=None, error=None)


def newest_first(rows: Iterable[RunRow]) -> list[RunRow]:
    """Of runs that began at once the later one comes first."""
    return sorted(reversed([*rows]), key=lambda row: row.started_at, reverse=True)


def is_open(row: RunRow) -> bool:
    """What it is now depends on who holds it."""
    return row.status in ("", "waiting")


def with_holder(row: RunRow, held: str) -> RunRow:
    """`held` says that it is `running` or `queued`; one that nobody holds and that does not wait was interrupted."""
    if not row.status:
        return replace(row, status=held or "interrupted")
    if row.status == "waiting" and held == "running":
        return replace(row, status=held, ended_at=None)
    return row
