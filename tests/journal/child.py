"""Another process on the same journal: `python child.py WHERE WHAT NAME [COUNT]`. Each line it prints is a promise.

WHERE is a folder, or `postgresql://…#PROJECT`.
"""

import asyncio
import sys
import time
from pathlib import Path

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import ToolFinished
from folkmoot.domain.settings import Storage
from folkmoot.errors import Conflict
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Epoch, NewRun, Query, Version


def said(text):
    return Draft("2026-03-01T12:00:00.000Z", ToolFinished(1, 1, "look", text, "ev-1"))


def promise(entries):
    for entry in entries:
        print(entry.seq, entry.id, flush=True)


async def write(journal, name, count):
    """A run of its own."""
    expected = NewRun(name, 30.0)
    for n in range(count):
        large = "x" * 70_000 if n % 50 == 49 else ""
        promise(await journal.append(name, expected, [said(f"{n}{large}"), said("second")]))
        expected = Epoch(1)


async def crowd(journal, name, count):
    """Several runs at once, so that transactions hold more than one append."""
    await asyncio.gather(*(write(journal, f"{name}-{n}", count) for n in range(8)))


async def share(journal, name, count):
    """One stream together with others: whoever comes too late reads again."""
    for n in range(count):
        while True:
            ends = [
                entry.run_seq
                async for entry in journal.read(Query(stream="shared", newest_first=True, limit=1))
            ]
            try:
                promise(
                    await journal.append("shared", Version(ends[0] if ends else 0), [said(f"{name} {n}")])
                )
                break
            except Conflict:
                continue


def opened(where):
    if not where.startswith("postgresql:"):
        return SqliteJournal.open(Path(where), time.monotonic)
    url, _, project = where.partition("#")
    return PostgresJournal(Storage(url=url, project=project))


async def main(where, what, name, count):
    journal = opened(where)
    await {"write": write, "crowd": crowd, "share": share, "forget": crowd}[what](journal, name, int(count))
    if what != "forget":
        await journal.close()


asyncio.run(main(*sys.argv[1:]))
