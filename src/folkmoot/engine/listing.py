"""The runs of a journal, each with who holds it now."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from folkmoot.domain.naming import LAST, RUN
from folkmoot.domain.run_row import ENDED, OPEN_STATUSES, RunRow, RunSummary
from folkmoot.engine.owner import held_claims
from folkmoot.ports import Journal, Query, RunQuery


async def run_list(journal: Journal, query: RunQuery = RunQuery()) -> list[RunRow]:
    """Newest first, unless the query says otherwise."""
    return await with_holders(journal, await journal.runs(query))


async def runs_in(journal: Journal, status: str, query: RunQuery) -> list[RunRow]:
    """Those with this status, as people see it. Of a run that has not ended it depends on who holds the run, so
    these are all looked at: they are few."""
    if status not in _HELD:
        return await run_list(journal, replace(query, statuses=(status,)))
    some = replace(query, statuses=OPEN_STATUSES, limit=0, offset=0)
    rows = [row for row in await run_list(journal, some) if row.status == status]
    return rows[query.offset :][: query.limit or None]


async def waiting_first(journal: Journal, query: RunQuery) -> list[RunSummary]:
    """A page of runs on which those that wait for someone come first, however old they are."""
    waiting = await journal.runs(replace(query, statuses=("waiting",), limit=0, offset=0))
    shown = waiting[query.offset : query.offset + query.limit]
    if left := query.limit - len(shown):
        offset = max(0, query.offset - len(waiting))
        others = replace(query, statuses=("", *ENDED, "pruned"), limit=left, offset=offset)
        shown += await journal.runs(others)
    return shown


async def run_row(journal: Journal, run: str) -> RunRow | None:
    """One run by its name; None for whatever else has this name."""
    rows = await run_list(journal, RunQuery(runs=(run,)))
    return rows[0] if rows else None


async def find_run(journal: Journal, name: str) -> RunRow:
    """By its id, the beginning of one that fits no other, or `last`."""
    if name and (exact := await run_row(journal, name)):
        return exact
    query = RunQuery(limit=1) if name == LAST else RunQuery(prefix=name)
    rows = {row.run_id: row for row in reversed(await run_list(journal, query) if name else [])}
    return rows[RUN.resolve(rows, name)]


async def with_holders(journal: Journal, runs: Sequence[RunSummary]) -> list[RunRow]:
    open = [run.run for run in runs if run.is_open]
    claims = await journal.claims(open) if open else ()
    held = {claim.run: "running" for claim in held_claims(claims)}
    held |= {claim.run: "queued" for claim in claims if not claim.owner}
    return [run.row(held.get(run.run, "")) for run in runs]


async def last_position(journal: Journal) -> int:
    """Where the journal ends now."""
    newest = [stored.seq async for stored in journal.stored(Query(newest_first=True, limit=1))]
    return newest[0] if newest else 0


_HELD = ("running", "queued", "interrupted", "waiting")
