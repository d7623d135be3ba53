"""What must hold of a journal, whatever was done to the process that wrote it. One list of faults; empty is well."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from chaos.witness import Seen
from folkmoot.contract.verify import verify
from folkmoot.domain.entry import Entry
from folkmoot.domain.events import (
    RUN_ENDS,
    SESSION_ENDS,
    LlmFailed,
    LlmResponse,
    SessionStarted,
    ToolFailed,
    ToolFinished,
)
from folkmoot.domain.run_row import RunRow
from folkmoot.engine.runs import list_runs
from folkmoot.errors import FolkmootError
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Journal, Query
from folkmoot.views.result import Result

Promises = Collection[tuple[int, str]]


class Book(NamedTuple):
    """A journal as it lies on the disk."""

    entries: Sequence[Entry]
    rows: Sequence[RunRow]
    faults: Sequence[str]
    """What could not be read, and what breaks the contract."""

    def of(self, run: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.stream == run]


def read_book(folder: Path) -> Book:
    """Opened by the product, as after any crash, and held against the contract."""
    return asyncio.run(_read(folder))


async def _read(folder: Path) -> Book:
    try:
        journal = SqliteJournal.open(folder, time.monotonic)
    except FolkmootError as error:
        return Book((), (), [f"it cannot be opened: {error}"])
    return await read_journal(journal)


async def read_journal(journal: Journal) -> Book:
    """All of it, then close it."""
    entries: list[Entry] = []
    try:
        found = (await verify(journal)).faults
        faults = [f"{one.guarantee}: {one.run_id}, entry {one.run_seq}: {one.words}" for one in found]
        async for entry in journal.read(Query()):
            entries.append(entry)
        return Book(entries, await list_runs(journal), faults)
    except FolkmootError as error:
        return Book(entries, (), [f"it cannot be read: {type(error).__name__} {error}"])
    finally:
        await journal.close()


def journal_faults(book: Book, promises: Promises) -> list[str]:
    """The contract holds, nothing is lost, no position is missing, and nobody is shown as running."""
    faults = [*book.faults]
    lost = {*promises} - {(entry.seq, entry.id) for entry in book.entries}
    if lost:
        faults.append(f"{len(lost)} acknowledged entries are lost, the first is {min(lost)}")
    if [entry.seq for entry in book.entries] != list(range(1, len(book.entries) + 1)):
        faults.append("the positions are not dense from 1")
    faults += [
        f"{row.run_id} is shown as running, and nobody runs it"
        for row in book.rows
        if row.status == "running"
    ]
    return faults


def settled_keys(entries: Sequence[Entry]) -> set[str]:
    """The requests and calls whose outcome is recorded: none of them may be made again."""
    keys: set[str] = set()
    for entry in entries:
        match entry.event:
            case LlmResponse() | LlmFailed() as event:
                keys.add(f"{entry.draft.session_id} {event.turn} {event.attempt}")
            case ToolFinished() | ToolFailed() as event:
                keys.add(f"{entry.stream}/{entry.draft.span}/turn:{event.turn}/call:{event.call}")
    return keys


def repeated(seen: Sequence[Seen], life: int, settled: Collection[str]) -> list[str]:
    """What a life did again although its outcome was recorded before it began."""
    return [f"{one.what} {one.key} again" for one in seen if one.life == life and one.key in settled]


def effect_faults(seen: Sequence[Seen], undisturbed: Sequence[Seen]) -> Iterator[str]:
    """C3: every effect of the undisturbed run has happened, no other, and each `once` call was delivered once."""
    for effect in ("once", "keyed"):
        wanted, got = _keys(undisturbed, effect), _keys(seen, effect)
        if missing := wanted.keys() - got.keys():
            yield f"{effect} calls were never made: {sorted(missing)}"
        if more := got.keys() - wanted.keys():
            yield f"{effect} calls that nobody wanted: {sorted(more)}"
        doubled = [key for key, times in got.items() if times > 1]
        if effect == "once" and doubled:
            yield f"once calls were delivered more than once: {doubled}"


def stop_faults(seen: Sequence[Seen], book: Book, run: str) -> Iterator[str]:
    """C5: after a stop is acknowledged nothing begins; the run and each of its sessions have one end."""
    of_run = [one for one in seen if one.key.startswith(run)]
    stops = [position for position, one in enumerate(of_run) if one.what == "stop"]
    if stops:
        yield from (
            f"{one.what} {one.key} after the stop" for one in of_run[stops[0] :] if one.what != "stop"
        )
    events = [entry.event for entry in book.of(run)]
    if [isinstance(event, RUN_ENDS) for event in events].count(True) != 1:
        yield f"{run} has not one end: {[event.type for event in events][-3:]}"
    begun = Counter(
        entry.draft.session_id for entry in book.of(run) if isinstance(entry.event, SessionStarted)
    )
    ended = Counter(entry.draft.session_id for entry in book.of(run) if isinstance(entry.event, SESSION_ENDS))
    if begun != ended:
        yield f"{run}: these sessions have not one end: {sorted({*(begun - ended), *(ended - begun)})}"


def _keys(seen: Sequence[Seen], effect: str) -> Counter[str]:
    return Counter(one.key for one in seen if one.what == "tool" and one.effect == effect)


def essence(run: str, entries: Sequence[Entry]) -> dict[str, Any]:
    """What a run came to: the same whatever happened on the way. Parallel branches may end in any order."""
    result = Result(run, [entry.draft for entry in entries])
    answers = []
    for entry in entries:
        match entry.event:
            case LlmResponse(turn=turn, message=message):
                answers.append((entry.draft.span, turn, 0, repr(message)))
            case ToolFinished(turn=turn, call=call, text=text) | ToolFailed(turn=turn, call=call, text=text):
                answers.append((entry.draft.span, turn, call, text))
    return {
        "status": result.status,
        "error": result.error,
        "report": result.final_report,
        "agent": result.final_agent_id,
        "route": result.router_selection,
        "totals": result.totals,
        "answers": sorted(answers),
    }


def differences(book: Book, undisturbed: Book, runs: Sequence[str]) -> Iterator[str]:
    for run in runs:
        got, wanted = essence(run, book.of(run)), essence(run, undisturbed.of(run))
        for part, value in wanted.items():
            if got[part] != value:
                yield f"{run}: {part} is {got[part]!r:.600}, undisturbed it is {value!r:.600}"
