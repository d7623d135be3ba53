"""The runs of a journal: listed with who holds each, imported, adopted and pruned.

Runs continue by themselves only where they began, or where they were adopted. Each bears a proof in its first event,
made from its id and the files it is pinned to with a secret of the installation: so neither a foreign journal nor a
changed copy of one's own can pass off its runs as started here.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from folkmoot.domain.catalogue import named_by
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import ADOPTIONS, RUN_ENDS, RunAdopted, RunPruned, RunStarted
from folkmoot.domain.naming import LAST, RUN
from folkmoot.domain.run_row import ENDED, OPEN_STATUSES, RunRow, RunSummary
from folkmoot.domain.value import Value
from folkmoot.engine.claims import held_claims
from folkmoot.engine.history import append_last, last_entry
from folkmoot.errors import Conflict, ForeignRun, JournalDamaged
from folkmoot.journal.codec import to_entry
from folkmoot.ports import Clock, Journal, Query, RunQuery, Stored, Swept, Version
from folkmoot.tools.consent import state_folder

if TYPE_CHECKING:
    from folkmoot.contract.verify import Verification, VerifiedSource


async def list_runs(journal: Journal, query: RunQuery = RunQuery()) -> list[RunRow]:
    """Newest first, unless the query says otherwise."""
    return await add_holders(journal, await journal.runs(query))


async def list_runs_by_status(journal: Journal, status: str, query: RunQuery) -> list[RunRow]:
    """Those with this status, as people see it. Of a run that has not ended it depends on who holds the run, so
    these are all looked at: they are few."""
    if status not in _HELD:
        return await list_runs(journal, replace(query, statuses=(status,)))
    some = replace(query, statuses=OPEN_STATUSES, limit=0, offset=0)
    rows = [row for row in await list_runs(journal, some) if row.status == status]
    return rows[query.offset :][: query.limit or None]


async def list_waiting_first(journal: Journal, query: RunQuery) -> list[RunSummary]:
    """A page of runs on which those that wait for someone come first, however old they are."""
    waiting = await journal.runs(replace(query, statuses=("waiting",), limit=0, offset=0))
    shown = waiting[query.offset : query.offset + query.limit]
    if left := query.limit - len(shown):
        offset = max(0, query.offset - len(waiting))
        others = replace(query, statuses=("", *ENDED, "pruned"), limit=left, offset=offset)
        shown += await journal.runs(others)
    return shown


async def find_run_row(journal: Journal, run: str) -> RunRow | None:
    """One run by its name; None for whatever else has this name."""
    rows = await list_runs(journal, RunQuery(runs=(run,)))
    return rows[0] if rows else None


async def find_run(journal: Journal, name: str) -> RunRow:
    """By its id, the beginning of one that fits no other, or `last`."""
    if name and (exact := await find_run_row(journal, name)):
        return exact
    query = RunQuery(limit=1) if name == LAST else RunQuery(prefix=name)
    rows = {row.run_id: row for row in reversed(await list_runs(journal, query) if name else [])}
    return rows[RUN.resolve(rows, name)]


async def add_holders(journal: Journal, runs: Sequence[RunSummary]) -> list[RunRow]:
    open = [run.run for run in runs if run.is_open]
    claims = await journal.claims(open) if open else ()
    held = {claim.run: "running" for claim in held_claims(claims)}
    held |= {claim.run: "queued" for claim in claims if not claim.owner}
    return [run.row(held.get(run.run, "")) for run in runs]


_HELD = ("running", "queued", "interrupted", "waiting")


YOUNG = 86_400.0
"""Seconds; what was kept within the last day may be about to be named."""


class PruneResult(Value, omit_defaults=False):
    runs: int
    entries: int
    swept: Swept


def select_prunable(rows: Iterable[RunRow], clock: Clock, older_than: float) -> list[RunRow]:
    """Runs that ended more than so many seconds ago; one that waits or was interrupted never ends by itself."""
    limit = datetime.fromisoformat(clock.now()) - timedelta(seconds=older_than)
    return [
        row
        for row in rows
        if row.status in ENDED and row.ended_at and datetime.fromisoformat(row.ended_at) < limit
    ]


async def prune_runs(
    journal: Journal, rows: Sequence[RunRow], clock: Clock, told: Callable[[int], None] = lambda count: None
) -> PruneResult:
    """Each run in one step, then the artifacts that nobody names any more. Whoever stops it loses nothing."""
    entries = 0
    for count, row in enumerate(rows, start=1):
        entries += await _prune_run(journal, row, clock)
        told(count)
    return PruneResult(len(rows), entries, await journal.sweep(YOUNG))


async def _prune_run(journal: Journal, row: RunRow, clock: Clock) -> int:
    last = await last_entry(journal, row.run_id)
    if last is None or not isinstance(last.event, RUN_ENDS) or isinstance(last.event, RunPruned):
        return 0  # somebody else was here meanwhile, as in a conflict below
    tombstone = RunPruned(row.agent, row.status, row.started_at, row.ended_at or "")
    try:  # it belongs to no session, because none is left
        return await journal.prune(row.run_id, Version(last.run_seq), Draft(clock.now(), tombstone))
    except Conflict:
        return 0


class ImportResult(Value, omit_defaults=False):
    runs: int
    entries: int
    known: int
    """Runs that were here already, the same to the last hash."""


async def import_runs(
    journal: Journal, source: VerifiedSource, told: Callable[[int], None] = lambda count: None
) -> ImportResult:
    """All runs of a source, each as it is or not at all: its entries keep their texts, times and hashes.

    The source is checked before and what was written after. Refuses everything if a run of the same name is here
    that is not the same run. Stopped and begun again, it goes on.
    """
    from folkmoot.contract.verify import verify  # noqa: PLC0415  # running agents needs none of it

    checked = await verify(source, told=told)
    _check_verdict(checked, "nothing was imported")
    missing = {
        run: head.id for run, head in checked.heads.items() if not await _is_imported(journal, run, head.id)
    }
    entries = await _copy_runs(journal, source, missing)
    for run in missing:
        _check_verdict(await verify(journal, run), "it was imported, and does not read back as it was")
    return ImportResult(len(missing), entries, len(checked.heads) - len(missing))


async def _is_imported(journal: Journal, run: str, last: str) -> bool:
    """The last hash stands for all before it, on either side also of a run that was pruned."""
    here = await last_entry(journal, run)
    if here and last != (here.prev if isinstance(here.event, RunPruned) else here.id):
        raise Conflict(f"there is already another run {run!r} in this journal; nothing was imported")
    return here is not None


async def _copy_runs(journal: Journal, source: VerifiedSource, missing: Mapping[str, str]) -> int:
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


def _check_verdict(verdict: Verification, what: str) -> None:
    if not verdict.holds:
        fault, count = verdict.faults[0], sum(verdict.by_guarantee.values())
        more = f" and {count - 1:,} more; `folkmoot verify` shows all" if count > 1 else ""
        raise JournalDamaged(f"{what}: {fault.run_id} at {fault.run_seq}: {fault.words}{more}")


class Installation:
    """What runs of a journal are recognised by. Its secret is read when the first run needs it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._file = state_folder() / "installation"
        self._secret = b""

    async def proof(self, run: str, graph: str) -> str:
        """Empty where no secret can be kept; such a run continues only after it was adopted somewhere."""
        if not self._secret:
            self._secret = await self._journal.installation_secret() or load_secret(self._file)
        digest = hmac.digest(self._secret, f"{run} {graph}".encode(), "sha256")
        return digest.hex()[:32] if self._secret else ""

    async def require(self, run: str, started: RunStarted) -> None:
        """Raises `ForeignRun` for a run that neither began nor was adopted here."""
        proof = await self.proof(run, started.graph)
        if not proof:
            raise ForeignRun(run)
        if hmac.compare_digest(started.origin, proof):
            return
        adopted = [entry.event async for entry in self._journal.read(Query(stream=ADOPTIONS))]
        if RunAdopted(run, proof) not in adopted:
            raise ForeignRun(run)

    async def adopt(self, clock: Clock, runs: Mapping[str, RunStarted]) -> list[str]:
        """Let these runs continue here; those that could not until now."""
        adopted = []
        for run, started in runs.items():
            try:
                await self.require(run, started)
            except ForeignRun:
                event = RunAdopted(run, await self.proof(run, started.graph))
                await append_last(self._journal, ADOPTIONS, Draft(clock.now(), event))
                adopted.append(run)
        return adopted


async def read_unfinished_runs(journal: Journal) -> dict[str, RunStarted]:
    """Every run that has not ended, by its id."""
    begun: dict[str, RunStarted] = {}
    for run in await journal.runs(RunQuery(statuses=OPEN_STATUSES, sort="started")):
        async for entry in journal.read(Query(stream=run.run, limit=1)):
            if isinstance(entry.event, RunStarted):
                begun[run.run] = entry.event
    return begun


def load_secret(file: Path) -> bytes:
    """Made when it is first needed; empty if this user may keep none."""
    with suppress(OSError):
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = file.with_suffix(f".{os.getpid()}")
            fresh.write_text(os.urandom(32).hex())
            fresh.chmod(0o600)
            with suppress(FileExistsError):
                os.link(fresh, file)  # of several processes, the first one's counts
            fresh.unlink()
        return bytes.fromhex(file.read_text().strip())
    return b""
