"""A project on a server, the workers that run it, and whoever answers what they ask."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chaos.life import Life, promise, promises
from chaos.oracle import Book, journal_faults, read_journal, repeated, settled_keys
from chaos.person import reply_to
from chaos.project import SETTINGS, Model, hasten_retries, identity, root_of, tools
from chaos.witness import Reporter, Seen, tell
from folkmoot import Folkmoot, Surroundings
from folkmoot.contract.verify import verify
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.events import RUN_ENDS
from folkmoot.domain.settings import Storage
from folkmoot.engine.claims import WorkerIdentity, WorkerOptions
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.commands import read_inbox
from folkmoot.engine.local import LocalEngine
from folkmoot.errors import OperationFailed, WrongUse
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.ports import Epoch, NewRun, Query, Version

PLACE = WorkerIdentity("here", lease=3.0)
"""Longer than a busy machine keeps a process waiting: who loses a run while it acts would act beside its successor."""
STILL = 1.0
"""Seconds for which a process that was stopped acts still, when it goes on."""
LONGEST = 300.0
"""Seconds until a batch of runs counts as stuck."""


class Promising(PostgresJournal):
    """The product's journal, which says aloud what it acknowledges."""

    says: int

    def append(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> asyncio.Future[Sequence[Entry]]:
        done = super().append(stream, expected, drafts)
        done.add_done_callback(lambda done: promise(self.says, done))
        return done


@dataclass(frozen=True, kw_only=True)
class Duty:
    """What a worker is to do."""

    folder: Path
    storage: Storage
    port: int
    """Of the witness."""
    number: int

    async def live(self, says: int) -> None:
        journal = Promising(self.storage)
        journal.says = says
        hasten_retries(PLACE.lease + STILL)
        reporter = await Reporter.connect(self.port, self.number)
        around = Surroundings(env={}, journal=journal, place=PLACE)
        report = reporter.report
        try:
            async with Folkmoot.open(
                self.folder, tools=tools(report), models={"scripted": Model(report)}, around=around
            ) as moot:
                worker = moot.worker(WorkerOptions(PLACE, concurrency=4, grace=0.02))
                worker.say = lambda text: _say(says, text)
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
                await worker.work()
        finally:
            await journal.close()
            reporter.close()


class Crew:
    """Some workers of one project, replaced when they are gone."""

    def __init__(self, folder: Path, storage: Storage, port: int, runs: Sequence[str]) -> None:
        tell(port, forget=True)
        self._folder, self._storage, self._port, self._runs = folder, storage, port, runs
        written = f"storage: {{url: '{storage.url}', project: {storage.project}}}\n"
        (folder / "folkmoot.yaml").write_text(SETTINGS + written)
        self._settled: dict[int, set[str]] = {}
        """What was settled before each worker began: it must do nothing of that again."""
        self._promises: set[tuple[int, str]] = set()
        self.workers: list[Life] = []
        self.faults: list[str] = []
        self.seen: Sequence[Seen] = ()
        self.book = Book((), (), ())
        asyncio.run(self._submit())
        self._until = time.monotonic() + LONGEST

    def add(self, *, ready: bool = False) -> None:
        """Another worker; `ready` to work when this returns."""
        number = len(self._settled) + 1
        with suppress(OperationFailed):  # the server is away: then this one is not watched so closely
            self._settled[number] = settled_keys(
                asyncio.run(read_journal(PostgresJournal(self._storage))).entries
            )
        self._settled.setdefault(number, set())
        duty = Duty(folder=self._folder, storage=self._storage, port=self._port, number=number)
        self.workers.append(Life(duty))
        self.workers[-1].begin()
        if ready:
            self.workers[-1].first_word()

    def gone(self, worker: Life, how: int) -> None:
        """End a worker and see what it leaves."""
        os.kill(worker.pid, how)
        self.workers.remove(worker)
        said = worker.over()
        self._promises |= promises(said)
        last = said.splitlines()[-1] if said else ""
        if how == signal.SIGTERM and last not in ("ended", ""):  # empty: it had not begun to listen
            self.faults.append(f"a worker that was told to stop said {last[-500:]!r}")

    def over(self) -> bool:
        """Whether all runs have ended; the workers are listened to meanwhile."""
        for worker in self.workers:
            worker.listen()
        if time.monotonic() > self._until:
            self.faults.append(f"stuck: {[(row.run_id, row.status) for row in self._look().rows]}")
            return True
        try:
            return asyncio.run(self._ended()) == len(self._runs)
        except OperationFailed:  # the server is away
            return False

    def answer(self) -> None:
        """Whatever waits for a person, truthfully."""
        with suppress(OperationFailed):
            asyncio.run(self._answer())

    def close(self) -> list[str]:
        """Send all home; everything that is wrong."""
        for worker in [*self.workers]:
            self.gone(worker, signal.SIGTERM)
        self.seen, self.book = tell(self._port), self._look()
        faults = [*self.faults, *journal_faults(self.book, self._promises)]
        for number, settled in self._settled.items():
            faults += repeated(self.seen, number, settled)
        verdict = asyncio.run(self._verify())
        return faults + verdict

    def end(self) -> None:
        """Whatever went wrong, none is left behind."""
        for worker in self.workers:
            worker.kill()

    @property
    def promised(self) -> int:
        return len(self._promises)

    def _look(self) -> Book:
        return asyncio.run(read_journal(PostgresJournal(self._storage)))

    async def _submit(self) -> None:
        names = iter(self._runs)
        around = Surroundings(env={}, identify=lambda _: identity(next(names)))

        async def nothing(*_: object, **__: object) -> None: ...

        async with Folkmoot.open(
            self._folder, tools=tools(nothing), models={"scripted": Model(nothing)}, around=around
        ) as moot:
            for run in self._runs:
                await moot.submit(root_of(run), "hello")

    async def _ended(self) -> int:
        journal = PostgresJournal(self._storage, readonly=True)
        try:
            ends = Query(types=tuple(end.type for end in RUN_ENDS))
            return len([entry async for entry in journal.read(ends)])
        finally:
            await journal.close()

    async def _answer(self) -> None:
        journal = PostgresJournal(self._storage)
        try:
            if items := [item for item in await read_inbox(journal) if item.is_open]:
                seen = tell(self._port, now=True)
                for item in items:
                    with suppress(WrongUse):  # somebody was quicker
                        await LocalEngine(journal, SystemClock()).reply(reply_to(item, seen))
        finally:
            await journal.close()

    async def _verify(self) -> list[str]:
        journal = PostgresJournal(self._storage, readonly=True)
        try:
            verdict = await verify(journal)
            return [
                f"{fault.guarantee} {fault.run_id} {fault.run_seq}: {fault.words}" for fault in verdict.faults
            ]
        finally:
            await journal.close()


def _say(says: int, text: str) -> None:
    os.write(says, f"said {text}\n".encode())
