"""An exported log as a source of entries: one line each, nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO

from folkmoot.errors import JournalDamaged
from folkmoot.journal.codec import stored_line
from folkmoot.ports import Query, Stored

LONGEST = 64 * 1024 * 1024
"""Bytes of a line; a file from elsewhere may be anything."""
_TURN = 100
"""Entries that are read before the event loop gets its turn."""


class Lines:
    artifacts = False
    """It names some and holds none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def stored(self, query: Query) -> AsyncIterator[Stored]:
        with self._path.open("rb") as file:
            async for stored in chosen_lines(file, query):
                yield stored

    async def artifact(self, id: str) -> bytes:
        raise KeyError(id)

    async def close(self) -> None:
        pass


async def chosen_lines(file: IO[bytes], query: Query) -> AsyncIterator[Stored]:
    """Those of one stream, or all."""
    for number, stored in enumerate(_lines(file), start=1):
        if query.stream in ("", stored.stream) or stored.fault:
            yield stored
        if number % _TURN == 0:
            await asyncio.sleep(0)


def _lines(file: IO[bytes]) -> Iterator[Stored]:
    """A line that is none is passed on as a fault, because those behind it may be sound."""
    number = seq = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise JournalDamaged(f"line {number} is longer than {LONGEST} bytes")
        try:
            stored = stored_line(line)
        except JournalDamaged as error:
            stored = Stored(seq, "", 0, "", "", b"", f"line {number}: {error}")
        seq = stored.seq
        yield stored
