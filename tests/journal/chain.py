"""Checks whole journals, independently of how they are read."""

from collections.abc import Iterable, Iterator

from folkmoot.domain.entry import Entry
from folkmoot.journal.codec import broken_link, hash_of, place_of, text_of


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
