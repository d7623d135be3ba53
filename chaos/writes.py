"""Kill at every write: one small batch of runs, killed at each system call that touches its disk, and continued."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from chaos.life import Life
from chaos.strace import finished_calls, traced
from chaos.trial import Disturb, Trials
from chaos.witness import witness

RUNS = ("desk-1", "sender-1")
KILLING = ("pwrite64", "write", "fdatasync", "fsync", "ftruncate", "rename", "unlink")


@dataclass
class Tally:
    kills: Counter[str] = field(default_factory=Counter)
    """By system call."""
    faults: list[str] = field(default_factory=list)


def kill_at_writes(most: int, seed: int) -> Tally:
    """At each call, or at so many of them at most, drawn at random. No two lives are quite alike: one that ended before
    it came to its point was not killed, and another point is drawn."""
    tally, dice = Tally(), random.Random(seed)
    with witness() as port:
        trials = Trials(port, RUNS)
        points = _points(trials)
        dice.shuffle(points)
        for call, number in points:
            if tally.kills.total() >= most:
                break
            lived, faults = trials.hold(_killed_at(call, number))
            tally.kills[call] += lived.last_words != "ended"
            tally.faults += [f"killed at {call} {number}: {fault}" for fault in faults]
    return tally


def _points(trials: Trials) -> list[tuple[str, int]]:
    """How often a life makes each call, and a little more: no two lives are quite alike."""
    with tempfile.TemporaryDirectory(prefix="folkmoot-trace-") as place:
        output = Path(place) / "calls"

        def watched(life: Life, folder: Path) -> str:
            with traced(life, "-e", f"trace={','.join(KILLING)}", output=output):
                return life.over()

        trials.hold(watched)
        made = Counter(name for _, _, name, _ in finished_calls(output))
    return [(call, number) for call in KILLING for number in range(1, made[call] + 3)]


def _killed_at(call: str, number: int) -> Disturb:
    def killed(life: Life, folder: Path) -> str:
        with traced(life, "-e", f"inject={call}:signal=SIGKILL:when={number}", "-e", f"trace={call}"):
            return life.over()

    return killed
