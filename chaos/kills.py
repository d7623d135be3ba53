"""Random `kill -9`: a process with runs of every pattern is killed again and again, and always goes on."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from chaos.life import Life, Plan, promises
from chaos.oracle import (
    Book,
    differences,
    effect_faults,
    journal_faults,
    read_book,
    repeated,
    settled_keys,
    stop_faults,
)
from chaos.person import reply_to
from chaos.project import ROOTS, project
from chaos.witness import Seen, tell, witness
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.commands import read_inbox
from folkmoot.engine.local import LocalEngine
from folkmoot.errors import WrongUse
from folkmoot.journal.sqlite import SqliteJournal

RUNS = tuple(f"{root}-{number}" for root in ROOTS for number in (1, 2))
STOPPED = "caller-3"
LONGEST = 0.03
"""Seconds between the first acknowledgement of a process and its end."""
SPARED = 0.1
"""How often a process is let live to its end."""


@dataclass
class Tally:
    kills: int = 0
    batches: int = 0
    promises: int = 0
    deliveries: int = 0
    repeated_keyed: int = 0
    """Deliveries of keyed calls beyond the first: allowed, because the key is the same."""
    in_doubt: int = 0
    stopped: int = 0
    """Stops that were acknowledged before their run had ended by itself."""
    faults: list[str] = field(default_factory=list)


def kill_at_random(count: int, seed: int) -> Tally:
    """Until so many processes were killed; every batch of runs is then let come to its end."""
    dice, tally = random.Random(seed), Tally()
    with witness() as port, project() as folder:
        undisturbed = _Batch(port, folder, seed=0)
        undisturbed.live()
        while tally.kills < count and not tally.faults:
            tally.batches += 1
            with project() as folder:
                batch = _Batch(port, folder, seed=dice.randrange(2**32))
                batch.kill_until_it_ends(dice, tally, count)
                batch.compare(undisturbed, tally)
    return tally


class _Batch:
    """One project whose runs are begun, killed and continued, by one process after another."""

    def __init__(self, port: int, folder: Path, seed: int) -> None:
        tell(port, forget=True)
        self._port, self._folder, self._seed = port, folder, seed
        self._promises: set[tuple[int, str]] = set()
        self._settled: set[str] = set()
        self._lives = 0
        self._killed = 0
        self.seen: Sequence[Seen] = ()
        self.book = Book((), (), ())

    def kill_until_it_ends(self, dice: random.Random, tally: Tally, count: int) -> None:
        while not tally.faults:
            spared = tally.kills >= count or dice.random() < SPARED
            lives = self._begin(two=dice.random() < 0.2)
            if dice.random() < 0.3:
                asyncio.run(self._answer_from_outside(dice))
            if not spared:
                _kill(lives, dice)
            faults = self._look(lives, killed=not spared)
            tally.kills += self._killed
            tally.faults += [f"batch {tally.batches}, life {self._lives}: {fault}" for fault in faults]
            if not self._killed:
                return
            if dice.random() < 0.3:
                asyncio.run(self._answer_from_outside(dice))

    def live(self) -> None:
        """Undisturbed, to the end."""
        if faults := self._look(self._begin(), killed=False):
            raise RuntimeError(f"nobody disturbed it, and yet: {faults}")

    def _begin(self, *, two: bool = False) -> list[Life]:
        """One process with all runs, or two with half of them each, at work in one journal."""
        runs = (*RUNS, STOPPED)
        lives = []
        for part in (runs[::2], runs[1::2]) if two else (runs,):
            self._lives += 1
            plan = Plan(
                folder=self._folder,
                port=self._port,
                runs=part,
                stopped=STOPPED if STOPPED in part else "",
                number=self._lives,
                seed=self._seed,
                seen=self.seen,
            )
            lives.append(Life(plan))
        for life in lives:
            life.begin()
        for life in lives:
            life.first_word()
        return lives

    def _look(self, lives: Sequence[Life], *, killed: bool) -> list[str]:
        try:
            said = [life.over() for life in lives]
        except TimeoutError as error:
            return [f"a run is stuck: {error}"]
        self._killed = sum(not words.endswith("ended\n") for words in said)
        self._promises = self._promises.union(*map(promises, said))
        self.seen = tell(self._port)
        self.book = read_book(self._folder)
        faults = journal_faults(self.book, self._promises)
        for number in range(self._lives - len(lives), self._lives):
            faults += repeated(self.seen, number + 1, self._settled)
        if not killed and self._killed:
            faults.append(f"it ended with: {[words[-500:] for words in said]}")
        self._settled = settled_keys(self.book.entries)
        return faults

    async def _answer_from_outside(self, dice: random.Random) -> None:
        """Half of what waits, left in the inboxes by another process."""
        journal = SqliteJournal.open(self._folder, time.monotonic)
        for item in await read_inbox(journal):
            if item.is_open and dice.random() < 0.5:
                with suppress(WrongUse):
                    await LocalEngine(journal, SystemClock()).reply(reply_to(item, self.seen))
        await journal.close()

    def compare(self, undisturbed: _Batch, tally: Tally) -> None:
        tally.promises += len(self._promises)
        made = [one for one in self.seen if one.what == "tool"]
        keyed = [one.key for one in made if one.effect == "keyed"]
        tally.deliveries += len(made)
        tally.repeated_keyed += len(keyed) - len({*keyed})
        tally.stopped += any(row.run_id == STOPPED and row.status == "cancelled" for row in self.book.rows)
        tally.in_doubt += sum(entry.event.type == "tool.in_doubt" for entry in self.book.entries)
        if not tally.faults:
            found = [
                *stop_faults(self.seen, self.book, STOPPED),
                *effect_faults(_but_stopped(self.seen), _but_stopped(undisturbed.seen)),
                *differences(self.book, undisturbed.book, RUNS),
            ]
            tally.faults += [f"batch {tally.batches}: {fault}" for fault in found]


def _kill(lives: Sequence[Life], dice: random.Random) -> None:
    for life in lives:
        time.sleep(dice.random() * LONGEST)
        life.kill()


def _but_stopped(seen: Sequence[Seen]) -> list[Seen]:
    """How far a run came that somebody stopped is chance."""
    return [one for one in seen if not one.key.startswith(STOPPED)]
