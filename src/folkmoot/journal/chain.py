"""Whether entries follow one another: dense from 1 in each stream, each naming the hash of the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from folkmoot.domain.entry import Entry
from folkmoot.errors import JournalDamaged
from folkmoot.journal.codec import ORIGIN, hash_of, place_of, text_of


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


def broken_link(before: Entry | None, entry: Entry) -> str:
    """Why this entry cannot stand after that one; empty if it can."""
    run_seq, id = (before.run_seq, before.id) if before else (0, ORIGIN)
    if entry.run_seq != run_seq + 1:
        return f"it follows on {run_seq}: entries are missing or doubled"
    if entry.prev != id:
        return f"it was written after another entry than {run_seq}"
    return ""


def require_link(before: Entry | None, entry: Entry) -> None:
    """Raise JournalDamaged if this entry cannot stand after that one."""
    if fault := broken_link(before, entry):
        raise JournalDamaged(f"{place_of(entry.seq, entry.stream, entry.run_seq)}: {fault}")
