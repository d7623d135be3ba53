"""Runs of a backup or a bundle become runs of this journal, whatever database that is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from folkmoot.contract.verify import Verification, VerifiedSource, verify
from folkmoot.domain.artifacts import named_by
from folkmoot.domain.events import RunPruned
from folkmoot.domain.value import Value
from folkmoot.engine.history import last_entry
from folkmoot.errors import Conflict, JournalDamaged
from folkmoot.journal.codec import to_entry
from folkmoot.ports import Journal, Query, Stored


class Imported(Value, omit_defaults=False):
    runs: int
    entries: int
    known: int
    """Runs that were here already, the same to the last hash."""


async def import_runs(
    journal: Journal, source: VerifiedSource, told: Callable[[int], None] = lambda count: None
) -> Imported:
    """All runs of a source, each as it is or not at all: its entries keep their texts, times and hashes.

    The source is checked before and what was written after. Refuses everything if a run of the same name is here
    that is not the same run. Stopped and begun again, it goes on.
    """
    checked = await verify(source, told=told)
    _refuse(checked, "nothing was imported")
    missing = {
        run: head.id for run, head in checked.heads.items() if not await _is_here(journal, run, head.id)
    }
    entries = await _copy(journal, source, missing)
    for run in missing:
        _refuse(await verify(journal, run), "it was imported, and does not read back as it was")
    return Imported(len(missing), entries, len(checked.heads) - len(missing))


async def _is_here(journal: Journal, run: str, last: str) -> bool:
    """The last hash stands for all before it, on either side also of a run that was pruned."""
    here = await last_entry(journal, run)
    if here and last != (here.prev if isinstance(here.event, RunPruned) else here.id):
        raise Conflict(f"there is already another run {run!r} in this journal; nothing was imported")
    return here is not None


async def _copy(journal: Journal, source: VerifiedSource, missing: Mapping[str, str]) -> int:
    """In one pass: a run is written when its last entry was read, so that only unfinished ones are held."""
    held: dict[str, list[Stored]] = {run: [] for run in missing}
    count = 0
    async for stored in source.stored(Query()):
        if stored.stream not in held:
            continue
        held[stored.stream].append(stored)
        for id in named_by(to_entry(stored).event):
            journal.keep(await source.artifact(id))
        if stored.id == missing[stored.stream] or stored.type == RunPruned.type:
            entries = held.pop(stored.stream)
            await journal.restore(stored.stream, entries)
            count += len(entries)
    return count


def _refuse(verdict: Verification, what: str) -> None:
    if not verdict.holds:
        fault, count = verdict.faults[0], sum(verdict.by_guarantee.values())
        more = f" and {count - 1:,} more; `folkmoot verify` shows all" if count > 1 else ""
        raise JournalDamaged(f"{what}: {fault.run_id} at {fault.run_seq}: {fault.words}{more}")
