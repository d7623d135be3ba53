"""What is recorded of one run."""

from __future__ import annotations

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import RunPruned
from folkmoot.errors import NotFound, WrongUse
from folkmoot.ports import Journal, Query


async def past_of(journal: Journal, run_id: str) -> list[Draft]:
    """Raises `WrongUse` if there is no such run."""
    past = [entry.draft async for entry in journal.read(Query(stream=run_id))]
    if not past:
        raise NotFound(
            f"there is no run {run_id!r}; `folkmoot runs list` shows those that are", code="run_not_found"
        )
    return past


async def whole_past(journal: Journal, run_id: str) -> list[Draft]:
    """From its beginning. Raises `WrongUse` also if only its tombstone is left."""
    past = await past_of(journal, run_id)
    if isinstance(past[-1].event, RunPruned):
        raise WrongUse(f"run {run_id!r} was pruned: what happened in it is gone")
    return past
