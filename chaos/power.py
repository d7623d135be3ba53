"""Power cuts: the files are rebuilt as a cut may have left them, and opened with the product."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from chaos.disk import Disk
from chaos.kills import RUNS
from chaos.life import Life, Plan
from chaos.oracle import Book, differences, journal_faults, read_book
from chaos.project import project
from chaos.strace import CALLS, traced
from chaos.witness import tell, witness
from folkmoot.domain.events import ToolStarted
from folkmoot.journal import files
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.orchestration.log import RunLog

CONTINUED_EVERY = 50
"""Of so many images one is continued to the end of all its runs."""


@dataclass
class Tally:
    images: int = 0
    points: int = 0
    """Calls after which the power could be cut."""
    promises: int = 0
    """Acknowledged entries, summed over the images."""
    continued: int = 0
    damaged: int = 0
    faults: list[str] = field(default_factory=list)


def cut_power(count: int, seed: int, planted: str = "") -> Tally:
    tally, dice = Tally(), random.Random(seed)
    with (
        witness() as port,
        project() as folder,
        tempfile.TemporaryDirectory(prefix="folkmoot-trace-") as place,
    ):
        trace = Path(place) / "calls"
        life = Life(Plan(folder=folder, port=port, runs=RUNS, seed=seed, before=PLANTED[planted]))
        with traced(life, "-y", "-xx", "-s", "4000000", "-e", f"trace={CALLS}", output=trace):
            said = life.over()
        if not said.endswith("ended\n"):
            raise RuntimeError(f"the traced process ended with: {said[-500:]}")
        undisturbed = read_book(folder)
        tally.points = sum(1 for _ in Disk(folder).replay(trace))
        cuts = sorted(dice.randrange(tally.points) for _ in range(count))
        for disk in _at(cuts, Disk(folder), trace):
            _look(disk, dice, tally, (port, undisturbed))
    return tally


def _at(cuts: list[int], disk: Disk, trace: Path) -> Iterator[Disk]:
    for point, _ in enumerate(disk.replay(trace)):
        while cuts and cuts[0] == point:
            cuts.pop(0)
            yield disk


def _look(disk: Disk, dice: random.Random, tally: Tally, around: tuple[int, Book]) -> None:
    port, undisturbed = around
    with project() as folder:
        disk.image(folder, dice)
        book = read_book(folder)
        faults = journal_faults(book, disk.promises) + _database_faults(folder)
        faults += [
            f"{key} was called, and its intent is lost" for key in sorted(disk.effects - _intents(book))
        ]
        tally.images += 1
        tally.promises += len(disk.promises)
        if not faults and tally.images % CONTINUED_EVERY == 0:
            faults = list(_continued(folder, port, undisturbed))
            tally.continued += 1
        tally.damaged += bool(faults)
        tally.faults += [f"image {tally.images}: {fault}" for fault in faults]


def _intents(book: Book) -> set[str]:
    return {entry.event.key for entry in book.entries if isinstance(entry.event, ToolStarted)}


def _continued(folder: Path, port: int, undisturbed: Book) -> Iterator[str]:
    """A person who is asked about a call in doubt knows what the witness saw of the first life."""
    life = Life(Plan(folder=folder, port=port, runs=RUNS, number=2, seen=tell(port)))
    life.begin()
    said = life.over()
    if not said.endswith("ended\n"):
        yield f"it does not go on: {said[-500:]}"
    yield from differences(read_book(folder), undisturbed, RUNS)


def _database_faults(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / ".folkmoot" / "folkmoot.db")) as connection:
        return [str(row[0]) for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]


def _sync_normal(journal: SqliteJournal) -> None:
    make = journal._make_writer
    assert make is not None

    def forgetful(settled):  # type: ignore[no-untyped-def]
        writer = make(settled)
        writer._connection.execute("PRAGMA synchronous = NORMAL")  # type: ignore[attr-defined]
        return writer

    journal._make_writer = forgetful


def _sync_no_artifact(journal: SqliteJournal) -> None:
    files._sync = lambda descriptor: None


def _settle_later(journal: SqliteJournal) -> None:
    """Nobody waits until an intent is durable."""

    async def settle(log: RunLog) -> None:
        log.write_soon()

    RunLog.settle = settle  # type: ignore[method-assign,assignment]


PLANTED: dict[str, Callable[[SqliteJournal], None]] = {
    "": lambda journal: None,
    "normal": _sync_normal,
    "artifact": _sync_no_artifact,
    "intent": _settle_later,
}
"""Faults that must be found, to show that they would be."""
