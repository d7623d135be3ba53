"""A file that holds entries, whatever it is: a backup, a bundle or an exported log."""

from __future__ import annotations

from pathlib import Path

from folkmoot.errors import WrongUse
from folkmoot.journal.bundle import IN_MEMORY, Bundle
from folkmoot.journal.lines import Lines
from folkmoot.journal.memory import MemoryJournal
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Query, Stored

Source = SqliteJournal | Bundle | Lines


def open_source(path: Path) -> Source:
    """By how the file begins, not by its name."""
    try:
        with path.open("rb") as file:
            begins = file.read(16)
    except OSError as error:
        raise WrongUse(f"cannot read {path}: {error.strerror}") from None
    if begins.startswith(b"PK"):
        return Bundle(path)
    if begins == b"SQLite format 3\0":
        return SqliteJournal.open_copy(path)
    if begins.startswith(b"{"):
        return Lines(path)
    raise WrongUse(f"{path} is no backup, no bundle and no exported log")


async def open_bundle(path: Path) -> MemoryJournal:
    """The runs of a bundle as a journal of their own, checked: to show, replay or go on with them."""
    bundle = Bundle(path, IN_MEMORY)
    try:
        journal = MemoryJournal()
        streams: dict[str, list[Stored]] = {}
        async for stored in bundle.stored(Query()):
            streams.setdefault(stored.stream, []).append(stored)
        for stream, entries in streams.items():
            await journal.restore(stream, entries)
        for id in bundle.ids:
            journal.keep(await bundle.artifact(id))
        return journal
    finally:
        await bundle.close()
