"""Faults of the disk and of the neighbours: no false acknowledgement, a clear error, and the runs go on afterwards."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from chaos.kills import RUNS
from chaos.life import Life
from chaos.project import LARGE
from chaos.strace import traced
from chaos.trial import Disturb, Trials
from chaos.witness import witness
from folkmoot.journal import writer
from folkmoot.journal.codec import hash_of
from folkmoot.journal.sqlite import SqliteJournal

ERROR = re.compile(r"failed OperationFailed: .*\.folkmoot/?.*: ")
"""It names the file, and then says what is the matter with it."""
_HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


class Scene(NamedTuple):
    disturb: Callable[[int], Disturb]
    """At this place: the call, counted from 1, that fails."""
    last: int = 1


@dataclass
class Tally:
    injected: Counter[str] = field(default_factory=Counter)
    """How often each fault was met."""
    errors: set[str] = field(default_factory=set)
    """What was said, without the places."""
    faults: list[str] = field(default_factory=list)


def suffer_faults(times: int, seed: int) -> Tally:
    """Each kind of fault so many times, at places drawn at random."""
    tally, dice = Tally(), random.Random(seed)
    with witness() as port:
        trials = Trials(port, RUNS, before=_impatient)
        for name, scene in SCENES.items():
            for _ in range(times):
                _suffer(name, scene, trials, dice, tally)
    return tally


def _suffer(name: str, scene: Scene, trials: Trials, dice: random.Random, tally: Tally) -> None:
    """Once. No two lives are quite alike: if one ended before it came to the place, an earlier one is drawn."""
    end, place = "ended", scene.last + 1
    while end == "ended" and place > 1:
        place = dice.randrange(1, place)
        lived, faults = trials.hold(scene.disturb(place))
        end = lived.last_words
        if end != "ended":
            tally.injected[name] += 1
            tally.errors.add(re.sub(r"(?<!\w)/\S*/", "", end.removeprefix("failed ")))
            faults += [] if ERROR.match(end) else [f"the error is not clear: {end!r}"]
        tally.faults += [f"{name}: {fault}" for fault in faults]


def _impatient(journal: SqliteJournal) -> None:
    """Whoever tests a lock does not wait for it as long as others do."""
    vars(writer)["PATIENCE"] = 0.3


def _failing(call: str, error: str, when: str, *more: str) -> Disturb:
    def failing(life: Life, folder: Path) -> str:
        options = ["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}"]
        for path in more:
            options += ["-P", str(folder / path.format(pid=life.pid))]
        with traced(life, *options):
            return life.over()

    return failing


def _locked(life: Life, folder: Path) -> str:
    """By another process, for longer than anybody has patience, while the runs are under way."""
    command = [sys.executable, "-c", _HOLD, str(folder / ".folkmoot" / "folkmoot.db")]
    life.begin(talkative=False)
    life.first_word()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        return life.over()


_LARGE = hash_of(LARGE.encode())
_ARTIFACT = f".folkmoot/artifacts/{_LARGE[:2]}/.{_LARGE}.{{pid}}.tmp"
SCENES = {
    "full disk": Scene(lambda place: _failing("pwrite64", "ENOSPC", f"{place}+"), 600),
    "full disk under an artifact": Scene(lambda place: _failing("write", "ENOSPC", f"{place}+", _ARTIFACT)),
    "I/O error at fdatasync": Scene(lambda place: _failing("fdatasync", "EIO", f"{place}"), 40),
    "I/O error at fsync": Scene(lambda place: _failing("fsync", "EIO", f"{place}"), 6),
    "I/O error at write": Scene(lambda place: _failing("pwrite64", "EIO", f"{place}"), 600),
    "locked by another": Scene(lambda place: _locked),
}
