"""All runs of a journal, with whoever has them now."""

from __future__ import annotations

from folkmoot.engine.owner import is_gone
from folkmoot.ports import Journal, Query
from folkmoot.views.runs import DECISIONS, RunRow, run_rows


async def run_list(journal: Journal) -> list[RunRow]:
    under_way = {}
    for claim in await journal.claims():
        if not claim.owner:
            under_way[claim.run] = "queued"
        elif claim.live and not is_gone(claim.owner):
            under_way[claim.run] = "running"
    types = (
        *("run.started", "run.forked", "run.completed", "run.failed", "run.cancelled", "run.parked"),
        *("run.pruned", *DECISIONS),
    )
    entries = [entry async for entry in journal.read(Query(types=types))]
    return run_rows(entries, under_way)
