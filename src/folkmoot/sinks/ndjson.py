"""Events in a file, one line each, as an exported journal has them. The file only grows.

A line that a crash cut short is cut off when the file is next opened, and a batch that comes again is known by the ids
that stand there already. At the end of a month, or before it grows too large, the file is put aside under a name of its
own: `coordination-events.2026-01.001.ndjson`.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from folkmoot.domain.entry import Entry
from folkmoot.errors import SinkFailed

_ID = re.compile(rb'\{"seq":\d+,"id":"([0-9a-f]{64})"')
_MONTH = re.compile(rb'"ts":"(\d{4}-\d\d)')
_BLOCK = 65_536


class NdjsonSink:
    def __init__(self, path: Path, line: Callable[[Entry], bytes], max_bytes: int) -> None:
        """`line` writes an entry out."""
        self._path = path
        self._line = line
        self._max_bytes = max_bytes
        self._left = (-1, -1)
        """The file as this sink last left it: nothing in it comes again."""

    async def deliver(self, entries: Sequence[Entry], kept: str) -> str:
        try:
            await asyncio.to_thread(self._append, entries)
        except OSError as error:
            raise SinkFailed(f"{self._path} cannot be written: {error.strerror or error}") from error
        return kept

    async def close(self) -> None:
        pass

    def _append(self, entries: Sequence[Entry]) -> None:
        """Durable when it returns."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(self._path.parent) as folder:
            self._cut_to_whole_lines()
            known = self._known()
            left = [entry for entry in entries if entry.id not in known]
            while left:
                left = left[self._fill(left) :]
                if left:
                    self._path.rename(self._aside())
                    self._path.touch(0o600)
            self._left = _mark(self._path.stat())
            os.fsync(folder)

    def _fill(self, entries: Sequence[Entry]) -> int:
        """How many of these the file takes, before it is full or its month is over; never none if it is empty."""
        month = self._month() or entries[0].draft.ts[:7]
        with self._path.open("ab") as file:
            taken = 0
            for entry in entries:
                line, size = self._line(entry), file.tell()
                if size and (entry.draft.ts[:7] > month or size + len(line) > self._max_bytes):
                    break
                file.write(line)
                taken += 1
            file.flush()
            os.fsync(file.fileno())
        return taken

    def _known(self) -> set[str]:
        """The ids in the file, and in the one before it: a batch may have been half in each."""
        if _mark(self._path.stat()) == self._left:
            return set()
        aside = sorted(self._path.parent.glob(f"{self._path.stem}.????-??.*{self._path.suffix}"))
        files = (*aside[-1:], self._path)
        return {found[1].decode() for path in files for line in _lines(path) if (found := _ID.match(line))}

    def _cut_to_whole_lines(self) -> None:
        """Made if it is not there."""
        with os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            end = file.seek(0, os.SEEK_END)
            newline = 0
            while end and not newline:
                start = max(0, end - _BLOCK)
                file.seek(start)
                newline = file.read(end - start).rfind(b"\n") + 1
                end = start + newline
            file.truncate(end)

    def _month(self) -> str:
        """Of the file's first line; empty if there is none."""
        found = _MONTH.search(next(_lines(self._path), b""))
        return found[1].decode() if found else ""

    def _aside(self) -> Path:
        """The first name of its month that is free."""
        names = (f"{self._path.stem}.{self._month()}.{number:03d}{self._path.suffix}" for number in count(1))
        return next(path for path in map(self._path.with_name, names) if not path.exists())


@contextmanager
def _alone(folder: Path) -> Iterator[int]:
    """No other process writes here meanwhile."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _mark(status: os.stat_result) -> tuple[int, int]:
    return status.st_ino, status.st_size
