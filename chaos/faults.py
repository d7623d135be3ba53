"""Faults of the disk and of the neighbours: no false acknowledgement, a clear error, and the runs go on afterwards."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chaos.kills import RUNS, project
from chaos.life import Life, Plan, promises
from chaos.oracle import (
    Book,
    differences,
    effect_faults,
    journal_faults,
    read_book,
    repeated,
    settled_keys,
)
from chaos.project import LARGE
from chaos.strace import traced
from chaos.witness import Seen, tell, witness
from folkmoot.journal import writer
from folkmoot.journal.codec import hash_of
from folkmoot.journal.sqlite import SqliteJournal

ERROR = re.compile(r"failed OperationFailed: .*\.folkmoot/?.*: ")
"""It names the file, and then says what is the matter with it."""
_HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@dataclass
class Tally:
    injected: dict[str, int] = field(default_factory=dict)
    """How often each fault was met."""
    errors: set[str] = field(default_factory=set)
    """What was said, without the places."""
    faults: list[str] = field(default_factory=list)


Suffer = Callable[[Life, Path], str]
"""Let a life meet a fault; what it said."""


def suffer_faults(times: int, seed: int) -> Tally:
    """Each kind of fault so many times, at places drawn at random."""
    tally, dice = Tally(), random.Random(seed)
    with witness() as port, project() as folder:
        undisturbed = _lived(port, folder, _undisturbed)
        for name, scene in SCENES.items():
            for _ in range(times):
                with project() as folder:
                    _suffer(name, scene(dice), tally, (port, folder), undisturbed)
    return tally


_Lived = tuple[str, Book, Sequence[Seen]]


def _lived(port: int, folder: Path, suffer: Suffer, seen: Sequence[Seen] | None = None) -> _Lived:
    """The first life of a batch, or its second, which knows what was seen of the first."""
    if seen is None:
        tell(port, forget=True)
    number = 1 if seen is None else 2
    life = Life(Plan(folder=folder, port=port, runs=RUNS, before=_impatient, number=number, seen=seen or ()))
    said = suffer(life, folder)
    return said, read_book(folder), tell(port)


def _suffer(name: str, suffer: Suffer, tally: Tally, place: tuple[int, Path], undisturbed: _Lived) -> None:
    said, before, seen = _lived(*place, suffer)
    faults = journal_faults(before, promises(said))
    end = said.splitlines()[-1] if said else ""
    if end != "ended":
        tally.injected[name] = tally.injected.get(name, 0) + 1
        tally.errors.add(re.sub(r"\S*/", "", end))
        if not ERROR.match(end):
            faults.append(f"the error is not clear: {end!r}")
    again, after, seen = _lived(*place, _undisturbed, seen)
    if not again.endswith("ended\n"):
        faults.append(f"it does not go on: {again[-500:]}")
    faults += journal_faults(after, promises(said) | promises(again))
    faults += repeated(seen, 2, settled_keys(before.entries))
    faults += [*effect_faults(seen, undisturbed[2]), *differences(after, undisturbed[1], RUNS)]
    tally.faults += [f"{name}: {fault}" for fault in faults]


def _undisturbed(life: Life, folder: Path) -> str:
    life.begin()
    return life.over()


def _impatient(journal: SqliteJournal) -> None:
    """Whoever tests a lock does not wait for it as long as others do."""
    vars(writer)["PATIENCE"] = 0.3


def _failing(call: str, error: str, when: str, *more: str) -> Suffer:
    def suffer(life: Life, folder: Path) -> str:
        options = ["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}"]
        for path in more:
            options += ["-P", str(folder / path.format(pid=life.pid))]
        with traced(life, *options):
            return life.over()

    return suffer


def _locked(life: Life, folder: Path) -> str:
    """By another process, for longer than anybody has patience, while the runs are under way."""
    life.begin()
    life.first_word()
    with _lock(folder / ".folkmoot" / "folkmoot.db"):
        return life.over()


@contextmanager
def _lock(database: Path) -> Iterator[None]:
    command = [sys.executable, "-c", _HOLD, str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield


_LARGE = hash_of(LARGE.encode())
SCENES: dict[str, Callable[[random.Random], Suffer]] = {
    "full disk": lambda dice: _failing("pwrite64", "ENOSPC", f"{dice.randrange(1, 600)}+"),
    "full disk under an artifact": lambda dice: _failing(
        "write", "ENOSPC", "1+", f".folkmoot/artifacts/{_LARGE[:2]}/.{_LARGE}.{{pid}}.tmp"
    ),
    "I/O error at fdatasync": lambda dice: _failing("fdatasync", "EIO", f"{dice.randrange(1, 40)}"),
    "I/O error at fsync": lambda dice: _failing("fsync", "EIO", f"{dice.randrange(1, 6)}"),
    "I/O error at write": lambda dice: _failing("pwrite64", "EIO", f"{dice.randrange(1, 600)}"),
    "locked by another": lambda dice: _locked,
}
