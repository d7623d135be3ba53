"""One life of the process that runs the project: from wherever the journal stands to the end, unless it is killed.

It is forked, not started, because starting Python takes longer than most lives. Each line that it writes is a promise:
`seq id` of an entry that was acknowledged, or `effect key` of a call that is about to have its effect. At its end it
says `ended`, or `failed` with the error.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from chaos.person import Person
from chaos.project import Model, hasten_retries, identity, tools
from chaos.witness import Reporter, Seen
from folkmoot import Folkmoot, Surroundings
from folkmoot.domain.entry import Draft, Entry
from folkmoot.errors import FolkmootError
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.loader import load as _load  # noqa: F401, here so that no life spends its time on it
from folkmoot.models import choose as _choose  # noqa: F401, likewise
from folkmoot.ports import Epoch, NewRun, Version


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a life is to do."""

    folder: Path
    port: int
    """Of the witness."""
    runs: Sequence[str]
    stopped: str = ""
    """A run that somebody stops at a random moment."""
    number: int = 1
    seed: int = 0
    seen: Sequence[Seen] = ()
    """What the witness saw of the lives before: the truth about calls in doubt."""
    before: Callable[[SqliteJournal], None] = lambda journal: None
    """Done to the journal first: a fault that is to be found, a patience that tests can wait for."""

    async def live(self, says: int) -> None:
        await _run_all(self, says)


class Livable(Protocol):
    async def live(self, says: int) -> None:
        """`says` is the pipe for its promises."""


class Life:
    """The process from outside."""

    def __init__(self, plan: Livable) -> None:
        self._hear, says = os.pipe()
        waits, self._release = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _forget_all_but(waits, says)
            os.read(waits, 1)
            _live(plan, says)
        os.close(says)
        os.close(waits)
        self._said = b""

    def begin(self, *, talkative: bool = True) -> None:
        """If it is not `talkative`, it stops after a few words until somebody listens."""
        if not talkative:
            fcntl.fcntl(self._hear, fcntl.F_SETPIPE_SZ, 4096)
        os.write(self._release, b"!")
        os.close(self._release)

    def first_word(self) -> str:
        """Return when it has acknowledged something, or is over."""
        self._said += os.read(self._hear, 65536)
        return self._said.decode()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def over(self, seconds: float = 300.0) -> str:
        """Everything it said, when it is over. Raises `TimeoutError` if it does not end: then it is stuck."""
        deadline = time.monotonic() + seconds
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            self.listen()
            if time.monotonic() > deadline:
                self.kill()
                os.waitpid(self.pid, 0)
                raise TimeoutError(f"process {self.pid} did not end within {seconds:.0f} s")
            time.sleep(0.001)
        while self.listen():
            pass
        os.close(self._hear)
        return self._said.decode()

    def last_words(self) -> str:
        """Of one that has ended, and was waited for already."""
        while self.listen():
            pass
        os.close(self._hear)
        return (self._said.decode().splitlines() or [""])[-1]

    def listen(self) -> bytes:
        """What it said since; it cannot go on when nobody listens for too long."""
        os.set_blocking(self._hear, False)
        with suppress(BlockingIOError):
            heard = os.read(self._hear, 1 << 20)
            self._said += heard
            return heard
        return b""


def _forget_all_but(*kept: int) -> None:
    """What a forked process holds open of its parent's would keep others from seeing that the parent let go."""
    for file in list(Path("/proc/self/fd").iterdir()):
        if int(file.name) > 2 and int(file.name) not in kept:
            with suppress(OSError):
                os.close(int(file.name))


def promises(said: str) -> set[tuple[int, str]]:
    """What was acknowledged in these words, the last of which may have been cut short."""
    lines = [line.split() for line in said.splitlines() if line[:1].isdigit()]
    return {(int(line[0]), line[1]) for line in lines if len(line) == 2 and len(line[1]) == 64}


def effects(said: str) -> set[str]:
    """The keys of the calls that were made in these words."""
    return {line.split()[1] for line in said.splitlines() if line.startswith("effect ")}


class Promising(SqliteJournal):
    """The product's journal, which says aloud what it acknowledges."""

    says: int

    def append(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> asyncio.Future[Sequence[Entry]]:
        done = super().append(stream, expected, drafts)
        if done.done():
            self._promise(done)
        else:
            done.add_done_callback(self._promise)
        return done

    def _promise(self, done: asyncio.Future[Sequence[Entry]]) -> None:
        promise(self.says, done)


def promise(says: int, done: asyncio.Future[Sequence[Entry]]) -> None:
    """Say what was acknowledged."""
    if not done.cancelled() and not done.exception():
        os.write(says, "".join(f"{entry.seq} {entry.id}\n" for entry in done.result()).encode())


def _live(plan: Livable, says: int) -> None:
    """Never returns."""
    code = 1
    try:
        gc.freeze()
        asyncio.run(plan.live(says))
        os.write(says, b"ended\n")
        code = 0
    except FolkmootError as error:
        os.write(says, f"failed {type(error).__name__}: {error}\n".encode())
    except BaseException as error:
        os.write(says, f"broke {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


async def _run_all(plan: Plan, says: int) -> None:
    journal = Promising.open(plan.folder, time.monotonic)
    journal.says = says
    hasten_retries(0.0)
    plan.before(journal)
    reporter = await Reporter.connect(plan.port, plan.number)
    names = iter(plan.runs)

    async def report(what: str, *, key: str, effect: str = "") -> None:
        if effect in ("once", "keyed"):
            os.write(says, f"effect {key}\n".encode())
        await reporter.report(what, key=key, effect=effect)

    around = Surroundings(env={}, journal=journal, identify=lambda _: identity(next(names)))
    try:
        async with Folkmoot.open(
            plan.folder,
            tools=tools(report),
            models={"scripted": Model(reporter.report)},
            around=around,
        ) as moot:
            begun = {row.run_id for row in await moot.runs()}
            names = iter([run for run in plan.runs if run not in begun])
            person = Person(moot, plan.seen, f"{plan.seed} {plan.number}")
            works = [person.see_through(run, begun=run in begun) for run in plan.runs]
            if plan.stopped:
                works.append(person.stop(plan.stopped, reporter))
            ends = await asyncio.gather(*works, return_exceptions=True)
            for end in ends:
                if isinstance(end, BaseException):
                    raise end
    finally:
        await journal.close()
        reporter.close()
