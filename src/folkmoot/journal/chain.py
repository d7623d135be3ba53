"""Whether entries follow one another: dense from 1 in each stream, each naming the hash of the one before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator

from folkmoot.domain.entry import Entry
from folkmoot.domain.events import RunPruned
from folkmoot.domain.value import Value
from folkmoot.errors import JournalDamaged
from folkmoot.journal.codec import ORIGIN, hash_of, place_of, text_of, to_entry
from folkmoot.ports import Query, Stored


def check_chain(entries: Iterable[Entry]) -> Iterator[str]:
    """Everything wrong with these entries, of one stream or many, each stream read whole and in order."""
    heads: dict[str, Entry] = {}
    for entry in entries:
        place = place_of(entry.seq, entry.stream, entry.run_seq)
        if hash_of(text_of(entry)) != entry.id:
            yield f"{place}: its content does not match its hash"
        if fault := broken_link(heads.get(entry.stream), entry):
            yield f"{place}: {fault}"
        heads[entry.stream] = entry


def check_stream(stream: str, entries: Iterable[Stored]) -> None:
    """Refuse a stream that does not hang together: `JournalDamaged` names the place."""
    before: Entry | None = None
    for stored in entries:
        entry = to_entry(stored)
        fault = broken_link(before, entry)
        if entry.stream != stream or fault:
            place = place_of(entry.seq, entry.stream, entry.run_seq)
            raise JournalDamaged(f"{place}: {fault or f'it does not belong to {stream!r}'}")
        before = entry


class Head(Value):
    """Where a stream ends."""

    run_seq: int
    id: str


def broken_link(before: Entry | Head | None, entry: Entry) -> str:
    """Why this entry cannot stand after that one; empty if it can."""
    if before is None and entry.event.type == RunPruned.type:
        return ""  # what stood before it was removed
    run_seq, id = (before.run_seq, before.id) if before else (0, ORIGIN)
    if entry.run_seq != run_seq + 1:
        return f"it follows on {run_seq}: entries are missing or doubled"
    if entry.prev != id:
        return f"it was written after another entry than {run_seq}"
    return ""


async def linked(stored: AsyncIterator[Stored], query: Query) -> AsyncIterator[Entry]:
    """The entries that a query found. A stream that is read whole must hang together: a gap is damage, no end."""
    whole = bool(query.stream) and not query.types and not query.newest_first and not query.seqs
    before: Entry | None = None
    async for one in stored:
        entry = to_entry(one)
        if whole and (before or not query.after):
            require_link(before, entry)
        yield entry
        before = entry


def require_link(before: Entry | None, entry: Entry) -> None:
    """Raise JournalDamaged if this entry cannot stand after that one."""
    if fault := broken_link(before, entry):
        raise JournalDamaged(f"{place_of(entry.seq, entry.stream, entry.run_seq)}: {fault}")
