"""Kill at every write: one small batch of runs, killed at each system call that touches its disk, and continued."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaos.kills import project
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
from chaos.strace import finished_calls, traced
from chaos.witness import Seen, tell, witness

RUNS = ("desk-1", "sender-1")
KILLING = ("pwrite64", "write", "fdatasync", "fsync", "ftruncate", "rename", "unlink")


@dataclass
class Tally:
    kills: dict[str, int] = field(default_factory=dict)
    """By system call."""
    faults: list[str] = field(default_factory=list)


def kill_at_writes(most: int, seed: int) -> Tally:
    """At each call, or at so many of them at most, drawn at random."""
    tally, dice = Tally(), random.Random(seed)
    with witness() as port:
        undisturbed, seen, points = _rehearsed(port)
        if most and len(points) > most:
            points = dice.sample(points, most)
        for call, number in points:
            if _killed(port, call, number, tally, (undisturbed, seen)):
                tally.kills[call] = tally.kills.get(call, 0) + 1
    return tally


def _rehearsed(port: int) -> tuple[Book, Sequence[Seen], list[tuple[str, int]]]:
    """An undisturbed life, and how often it makes each call, a little more: no two lives are quite alike."""
    with project() as folder, tempfile.TemporaryDirectory(prefix="folkmoot-trace-") as place:
        output = Path(place) / "calls"
        life = Life(Plan(folder=folder, port=port, runs=RUNS))
        with traced(life, "-e", f"trace={','.join(KILLING)}", output=output):
            life.over()
        made = Counter(name for _, _, name, _ in finished_calls(output))
        points = [(call, number) for call in KILLING for number in range(1, made[call] + 3)]
        return read_book(folder), tell(port, forget=True), points


def _killed(
    port: int, call: str, number: int, tally: Tally, undisturbed: tuple[Book, Sequence[Seen]]
) -> bool:
    """Whether the life got as far as that call."""
    tell(port, forget=True)
    with project() as folder:
        life = Life(Plan(folder=folder, port=port, runs=RUNS))
        with traced(life, "-e", f"inject={call}:signal=SIGKILL:when={number}", "-e", f"trace={call}"):
            said = life.over()
        killed = not said.endswith("ended\n")
        before, seen = read_book(folder), tell(port)
        faults = journal_faults(before, promises(said))
        life = Life(Plan(folder=folder, port=port, runs=RUNS, number=2, seen=seen))
        life.begin()
        again = life.over()
        after, seen = read_book(folder), tell(port)
        faults += journal_faults(after, promises(said) | promises(again))
        faults += repeated(seen, 2, settled_keys(before.entries))
        faults += [*effect_faults(seen, undisturbed[1]), *differences(after, undisturbed[0], RUNS)]
        if not again.endswith("ended\n"):
            faults.append(f"it does not go on: {again[-500:]}")
    tally.faults += [f"killed at {call} {number}: {fault}" for fault in faults]
    return killed
