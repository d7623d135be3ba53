"""Workers that are killed, stopped for longer than their lease, and told to stop; servers that crash under them."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from chaos.crew import PLACE, Crew
from chaos.oracle import differences, effect_faults
from chaos.project import ROOTS, project
from chaos.witness import witness
from tests.postgres_server import PostgresServer, running_server

WORKERS = 3
BREATH = 0.02
"""Seconds between looks."""

Disturb = Callable[[Crew, random.Random], None]


@dataclass
class Tally:
    done: dict[str, int] = field(
        default_factory=lambda: {"kills": 0, "stops": 0, "handovers": 0, "crashes": 0}
    )
    runs: int = 0
    """All of them ended once, as undisturbed."""
    promises: int = 0
    repeated_keyed: int = 0
    in_doubt: int = 0
    faults: list[str] = field(default_factory=list)


def disturb_workers(count: int, seed: int) -> Tally:
    """Until so many workers were killed."""
    tally = Tally()

    def disturb(crew: Crew, dice: random.Random) -> None:
        worker = dice.choice(crew.workers)
        time.sleep(dice.random() * 0.3)
        match dice.choices(["kills", "stops", "handovers"], [10, 1, 2])[0]:
            case "stops" as what:
                _stop(worker.pid)
                crew.gone(worker, signal.SIGKILL)
            case "handovers" as what:
                crew.gone(worker, signal.SIGTERM)
            case what:
                crew.gone(worker, signal.SIGKILL)
        tally.done[what] += 1
        crew.add()
        crew.answer()

    with running_server() as server:
        _play(server, tally, seed, disturb, lambda: tally.done["kills"] < count)
    return tally


def crash_servers(count: int, seed: int) -> Tally:
    """Until the server was killed so many times under load."""
    tally = Tally()
    with running_server() as server:

        def disturb(crew: Crew, dice: random.Random) -> None:
            crew.answer()
            time.sleep(dice.random() * 0.2)
            server.kill()
            server.start()
            tally.done["crashes"] += 1

        _play(server, tally, seed, disturb, lambda: tally.done["crashes"] < count)
    return tally


def _stop(pid: int) -> None:
    """For longer than its lease; then it goes on for a moment, and must do no harm."""
    os.kill(pid, signal.SIGSTOP)
    time.sleep(PLACE.lease * 1.3)
    os.kill(pid, signal.SIGCONT)
    time.sleep(0.1)


def _play(
    server: PostgresServer, tally: Tally, seed: int, disturb: Disturb, more: Callable[[], bool]
) -> None:
    """Batches of runs of every pattern, as long as there is more to come; the first is left in peace, and so is the
    last when it has seen enough: a machine may be too slow to get on between one disturbance and the next."""
    dice = random.Random(seed)

    def disturb_on(crew: Crew, dice: random.Random) -> None:
        if more():
            disturb(crew, dice)

    runs = [f"{root}-{number}" for root in ROOTS for number in range(1, 4)]
    with witness() as port:
        undisturbed = _batch(server, port, runs, dice, None, tally)
        while more() and not tally.faults:
            crew = _batch(server, port, runs, dice, disturb_on, tally)
            tally.faults += effect_faults(crew.seen, undisturbed.seen)
            tally.faults += differences(crew.book, undisturbed.book, runs)


def _batch(  # because all of it differs
    server: PostgresServer,
    port: int,
    runs: Sequence[str],
    dice: random.Random,
    disturb: Disturb | None,
    tally: Tally,
) -> Crew:
    with project() as folder:
        crew = Crew(folder, server.storage(f"c{dice.randrange(2**48)}"), port, runs)
        try:
            for _ in range(WORKERS):
                crew.add(ready=True)
            while not crew.over():
                crew.answer()
                if disturb:
                    disturb(crew, dice)
                time.sleep(BREATH)
            tally.faults += crew.close()
        finally:
            crew.end()
    keyed = [one.key for one in crew.seen if one.what == "tool" and one.effect == "keyed"]
    tally.runs += len(runs)
    tally.promises += crew.promised
    tally.repeated_keyed += len(keyed) - len({*keyed})
    tally.in_doubt += sum(entry.event.type == "tool.in_doubt" for entry in crew.book.entries)
    return crew
