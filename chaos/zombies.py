"""Processes that are not dead: stopped at a point of a `once` call, or without the answer to their commit, while others
take their run over and a person answers; then they go on, and must do no harm.

Each round is one project on a PostgreSQL with three workers: one run makes the call, another makes one that takes
longer than a lease. A process outside counts what arrives.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.life import Life
from chaos.oracle import read_journal
from chaos.person import reply_to
from chaos.project import SETTINGS, Model, called, identity, project, result_of, root_of
from chaos.proxy import Proxy
from chaos.witness import Reporter, Seen, tell, witness
from folkmoot import Folkmoot, Surroundings, tool
from folkmoot.contract.verify import verify
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.events import RUN_ENDS, RunCompleted, ToolFailed, ToolStarted
from folkmoot.domain.fence import retry_delay
from folkmoot.domain.inbox_events import ToolSettled
from folkmoot.domain.settings import Storage
from folkmoot.engine.claims import HeldRuns, WorkerIdentity, WorkerOptions
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.commands import read_inbox
from folkmoot.engine.local import LocalEngine
from folkmoot.errors import OperationFailed, WrongUse
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.journal.postgres.ledger import Ledger
from folkmoot.ports import Claim, Epoch, NewRun, Version
from folkmoot.tools.registry import FunctionTool
from tests.postgres_server import PostgresServer, running_server

PLACE = WorkerIdentity("here", lease=3.0)
TIMEOUT = 1.0
DELAY = retry_delay(PLACE.lease, TIMEOUT)
STEP = 2.5 * PLACE.lease
"""Seconds of a step that is longer than a lease."""
WORKERS = 3
ROUNDS = 2
"""At once: the server takes 40 connections, and a worker has up to five."""
LONGEST = 120.0
"""Seconds until a round counts as stuck."""
LOOK = 0.2
POINTS = ("before the commit", "after the commit", "after the check")
AGENTS = {
    "sender": f"tools: [send]\ntoolTimeout: {TIMEOUT:g}s",
    "plodder": f"tools: [plod]\ntoolTimeout: {STEP + 2:g}s",
}
SCRIPT: dict[str, Any] = {
    "sender": [{"calls": [called("send", to="x")]}, "sent"],
    "plodder": [{"calls": [called("plod", to="y")]}, "there"],
}


@dataclass
class Tally:
    rounds: int = 0
    disturbed: dict[str, int] = field(default_factory=dict)
    retried: int = 0
    """Calls that were made again, as a person said."""
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Duty:
    """What a worker is to do, and where it stops itself if it is the first to get there."""

    folder: Path
    storage: Storage
    port: int
    number: int
    stop_at: str = ""
    planted: str = ""

    async def live(self, says: int) -> None:
        journal = _Stopping(self.storage)
        journal.duty = self
        PLANTED[self.planted]()
        reporter = await Reporter.connect(self.port, self.number)
        around = Surroundings(env={}, journal=journal, place=PLACE)
        model = Model(reporter.report, SCRIPT)
        try:
            async with Folkmoot.open(
                self.folder, tools=self._tools(reporter), models={"scripted": model}, around=around
            ) as moot:
                worker = moot.worker(WorkerOptions(PLACE, grace=0.02))
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
                worker.say = lambda text: _say(says, text)
                await worker.work()
        finally:
            await journal.close()
            reporter.close()

    def stop(self, point: str) -> None:
        """Stand still until somebody lets this process go on; once in a round."""
        if point == self.stop_at:
            with suppress(FileExistsError):
                (self.folder / "stopped").touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGSTOP)

    def _tools(self, reporter: Reporter) -> list[FunctionTool]:
        @tool(effect="once", access="write")
        async def send(to: str, idempotency_key: str) -> str:
            """Send something."""
            self.stop("after the check")
            await reporter.report("tool", effect="once", key=idempotency_key)
            return result_of("send", {"to": to})

        @tool(effect="once", access="write")
        async def plod(to: str, idempotency_key: str) -> str:
            """Get somewhere, slowly."""
            await reporter.report("tool", effect="once", key=idempotency_key)
            await asyncio.sleep(STEP)
            return result_of("plod", {"to": to})

        return [send, plod]


class _Stopping(PostgresJournal):
    duty: Duty

    def append(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> asyncio.Future[Sequence[Entry]]:
        sends = any(isinstance(draft.event, ToolStarted) and draft.event.tool == "send" for draft in drafts)
        if sends:
            self.duty.stop(POINTS[0])
        done = super().append(stream, expected, drafts)
        if sends:
            done.add_done_callback(lambda _: self.duty.stop(POINTS[1]))
        return done


def _say(says: int, text: str) -> None:
    os.write(says, f"said {text}\n".encode())


class Round:
    """One project with its workers, looked at again and again until its runs have ended."""

    def __init__(self, server: PostgresServer, port: int, number: int, dice: random.Random) -> None:
        self._place = project(AGENTS)
        self.folder = self._place.__enter__()
        self.storage = server.storage(f"z{dice.randrange(2**48)}")
        self.runs = (f"sender-{number}", f"plodder-{number}")
        self.stopped: Life | None = None
        self.faults: list[str] = []
        self.retried = 0
        self._port = port
        self._until = time.monotonic() + LONGEST
        self._again = self._next = self._ended_at = 0.0
        self._dice = dice
        self._workers: list[Life] = []
        self._proxy: Life | None = None
        self._point = self._planted = ""
        written = f"storage: {{url: '{self.storage.url}', project: {self.storage.project}}}\n"
        (self.folder / "folkmoot.yaml").write_text(SETTINGS + written)
        asyncio.run(self._submit())

    def begin(self, *, point: str = "", through: Proxy | None = None, planted: str = "") -> None:
        storage = self.storage
        if through:
            self._proxy = Life(through)
            self._proxy.begin()
            storage = through.storage(storage, self._proxy)
        self._point, self._planted = point, planted
        for number in range(1, WORKERS + 1):
            duty = Duty(
                folder=self.folder,
                storage=storage,
                port=self._port,
                number=number,
                stop_at=point,
                planted=planted,
            )
            self._workers.append(Life(duty))
            self._workers[-1].begin()

    def over(self) -> bool:
        """After whatever is to be done now."""
        for life in self._workers:
            life.listen()
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + LOOK
        seen = [one for one in tell(self._port, now=True) if one.key.startswith(self.runs)]
        self._look_at_stops(now, seen)
        with suppress(OperationFailed):
            asyncio.run(self._answer(seen))
        ended = asyncio.run(self._ended())
        if now > self._until:
            self.faults.append(f"{self.runs}: stuck, {ended} of {len(self.runs)} runs have ended")
        waits = self.stopped and self._again  # nobody has let it go on yet
        return now > self._until or (ended == len(self.runs) and not waits and now > self._settled(now))

    def close(self) -> None:
        """Send all home, and see what they leave."""
        for life in self._workers:
            life.kill()
            life.over()
        if self._proxy:
            self._proxy.kill()
            if "swallowed" not in self._proxy.over():
                self.faults.append(f"{self.runs}: no answer was swallowed")
        elif not self.stopped:
            self.faults.append(f"{self.runs}: no worker was stopped")
        seen = [one for one in tell(self._port, now=True) if one.key.startswith(self.runs)]
        self.faults += asyncio.run(self._judge(seen))
        self._place.__exit__(None, None, None)

    def _settled(self, now: float) -> float:
        """A process that goes on is given the time of a lease to do harm."""
        self._ended_at = self._ended_at or now
        return self._ended_at + PLACE.lease

    def _look_at_stops(self, now: float, seen: Sequence[Seen]) -> None:
        for life in self._workers:
            pid, status = os.waitpid(life.pid, os.WNOHANG | os.WUNTRACED)
            if pid and not os.WIFSTOPPED(status):
                self._workers.remove(life)
                self.faults.append(f"{self.runs}: a worker has ended: {life.last_words()}")
            elif pid:
                self.stopped = life
                if self._point == POINTS[2]:  # no longer than the window that remains
                    self._again = now + self._dice.uniform(PLACE.lease, PLACE.lease + DELAY - 3)
                elif not self._planted and self._dice.random() < 0.3:
                    self._again = now + self._dice.uniform(0, 2 * PLACE.lease)
                else:  # when its call was made again by another
                    self._again = now + LONGEST / 2
        if not self.stopped or not self._again:
            return
        if any(one.effect == "once" and one.key.startswith(self.runs[0]) for one in seen):
            self._again = min(self._again, now + self._dice.random())
        if now >= self._again:
            self._again = 0.0
            os.kill(self.stopped.pid, signal.SIGCONT)

    async def _answer(self, seen: Sequence[Seen]) -> None:
        journal = PostgresJournal(self.storage)
        try:
            for item in await read_inbox(journal):
                if item.is_open:
                    with suppress(WrongUse):  # somebody was quicker, or it is too early
                        reply = reply_to(item, seen)
                        await LocalEngine(journal, SystemClock()).reply(reply)
                        self.retried += reply.word == "retry"
        finally:
            await journal.close()

    async def _ended(self) -> int:
        try:
            book = await read_journal(PostgresJournal(self.storage, readonly=True))
        except OperationFailed:
            return 0
        return sum(isinstance(entry.event, RUN_ENDS) for entry in book.entries)

    async def _judge(self, seen: Sequence[Seen]) -> list[str]:
        journal = PostgresJournal(self.storage, readonly=True)
        found = [fault.words for fault in (await verify(journal)).faults]
        book = await read_journal(journal)
        for run in self.runs:
            arrived = [one for one in seen if one.effect == "once" and one.key.startswith(run)]
            timed_out = any(isinstance(entry.event, ToolFailed) for entry in book.of(run))
            if len(arrived) > 1 or not (arrived or timed_out):
                found.append(f"its call arrived {len(arrived)} times")
            if not isinstance(book.of(run)[-1].event, RunCompleted):
                found.append(f"it came to {book.of(run)[-1].event.type}")
        slow = [one for one in seen if one.key.startswith(self.runs[1]) and one.effect == "once"]
        alive = {n for n, life in enumerate(self._workers, 1) if life is not self.stopped}
        done = [entry.event for entry in book.of(self.runs[1]) if isinstance(entry.event, ToolSettled)]
        if not self._proxy and slow and slow[0].life in alive and any(one.decision == "done" for one in done):
            found.append("a step longer than a lease was put before a person, and its worker lived")
        return [f"{self.runs[0]}, {self._point or 'swallowed'}: {words}" for words in found]

    async def _submit(self) -> None:
        names = iter(self.runs)
        around = Surroundings(env={}, identify=lambda _: identity(next(names)))

        async def nothing(*_: object, **__: object) -> None: ...

        duty = Duty(folder=self.folder, storage=self.storage, port=self._port, number=0)
        tools = duty._tools(None)  # type: ignore[arg-type]
        async with Folkmoot.open(
            self.folder, tools=tools, models={"scripted": Model(nothing, SCRIPT)}, around=around
        ) as moot:
            for run in self.runs:
                await moot.submit(root_of(run), "hello")


def wake_zombies(count: int, seed: int, planted: str = "") -> Tally:
    """Stop a worker in so many rounds, at each point in turn."""

    def begin(one: Round, number: int, dice: random.Random) -> str:
        point = POINTS[1] if planted else POINTS[number % len(POINTS)]
        one.begin(point=point, planted=planted)
        return point

    return _play(count, seed, begin)


def swallow_answers(count: int, seed: int, planted: str = "") -> Tally:
    """Lose the answer to a commit in so many rounds."""

    def begin(one: Round, number: int, dice: random.Random) -> str:
        long = planted or dice.random() < 0.7
        silence = (
            1.5 * PLACE.lease + DELAY + dice.uniform(1.5, 3) if long else dice.uniform(1, 2) * PLACE.lease
        )
        one.begin(through=Proxy(one.storage, silence), planted=planted)
        return "for longer than until the call is made again" if long else "for a lease or two"

    return _play(count, seed, begin)


def _play(count: int, seed: int, begin: Callable[[Round, int, random.Random], str]) -> Tally:
    tally, dice = Tally(), random.Random(seed)
    with running_server() as server, witness() as port:
        under_way: list[Round] = []
        try:
            while tally.rounds < count or under_way:
                while tally.rounds < count and len(under_way) < ROUNDS and not tally.faults:
                    one = Round(server, port, tally.rounds, dice)
                    under_way.append(one)
                    how = begin(one, tally.rounds, dice)
                    tally.disturbed[how] = tally.disturbed.get(how, 0) + 1
                    tally.rounds += 1
                for one in [*under_way]:
                    if one.over():
                        under_way.remove(one)
                        one.close()
                        tally.faults += one.faults
                        tally.retried += one.retried
                if tally.faults and not under_way:
                    break
                time.sleep(0.02)
        finally:
            for one in under_way:
                one.close()
    return tally


def _check_nothing() -> None:
    """Call without a look at the clock."""
    HeldRuns._may_call = lambda self, held: True  # type: ignore[method-assign]


def _trust_lookup() -> None:
    """Go on with an entry that was found, whoever owns the run by now."""

    async def lost(*_: object) -> set[str]:
        return set()

    _check_nothing()
    Ledger.lost = lost  # type: ignore[method-assign,assignment]


def _renew_nothing() -> None:
    async def renew(self: object, claims: Sequence[Claim], lease: float) -> frozenset[str]:
        return frozenset(claim.run for claim in claims)

    PostgresJournal.renew = renew  # type: ignore[method-assign]


PLANTED: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "check": _check_nothing,
    "lookup": _trust_lookup,
    "renewal": _renew_nothing,
}
"""Faults of the workers that must be found."""
