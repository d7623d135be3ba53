"""Ended runs are removed to save room; of each a tombstone stays, with the run's last hash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RUN_ENDS, RunPruned
from folkmoot.domain.run_row import ENDED, RunRow
from folkmoot.domain.value import Value
from folkmoot.engine.history import last_entry
from folkmoot.errors import Conflict
from folkmoot.ports import Clock, Journal, Swept, Version

YOUNG = 86_400.0
"""Seconds; what was kept within the last day may be about to be named."""


class Pruned(Value, omit_defaults=False):
    runs: int
    entries: int
    swept: Swept


def prunable(rows: Iterable[RunRow], clock: Clock, older_than: float) -> list[RunRow]:
    """Runs that ended more than so many seconds ago; one that waits or was interrupted never ends by itself."""
    limit = datetime.fromisoformat(clock.now()) - timedelta(seconds=older_than)
    return [
        row
        for row in rows
        if row.status in ENDED and row.ended_at and datetime.fromisoformat(row.ended_at) < limit
    ]


async def prune(
    journal: Journal, rows: Sequence[RunRow], clock: Clock, told: Callable[[int], None] = lambda count: None
) -> Pruned:
    """Each run in one step, then the artifacts that nobody names any more. Whoever stops it loses nothing."""
    entries = 0
    for count, row in enumerate(rows, start=1):
        entries += await _bury(journal, row, clock)
        told(count)
    return Pruned(len(rows), entries, await journal.sweep(YOUNG))


async def _bury(journal: Journal, row: RunRow, clock: Clock) -> int:
    last = await last_entry(journal, row.run_id)
    if last is None or not isinstance(last.event, RUN_ENDS) or isinstance(last.event, RunPruned):
        return 0  # somebody else was here meanwhile, as in a conflict below
    tombstone = RunPruned(row.agent, row.status, row.started_at, row.ended_at or "")
    try:  # it belongs to no session, because none is left
        return await journal.prune(row.run_id, Version(last.run_seq), Draft(clock.now(), tombstone))
    except Conflict:
        return 0
