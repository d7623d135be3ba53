"""A project that worker processes share, and what one sees of them: the journal, and who did what."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from typing import Any

from folkmoot import Folkmoot
from folkmoot.contract.verify import verify
from folkmoot.domain.entry import Entry
from folkmoot.domain.events import RUN_ENDS
from folkmoot.domain.settings import Storage
from folkmoot.journal.postgres.journal import PostgresJournal
from tests.cli.conftest import SETTINGS, Program, soon, wait_for
from tests.postgres_server import PostgresServer

TOOLS = '''
import os
from contextlib import suppress
from fcntl import LOCK_SH, flock
from pathlib import Path
from folkmoot import tool

HERE = Path(__file__).parent


def _do(effect: str, key: str) -> str:
    """Leave a line, and wait as long as there is a gate before this turn that nobody opens."""
    with (HERE / "done").open("a") as done:
        done.write(f"{effect} {os.getpid()} {key}\\n")
    with suppress(FileNotFoundError), (HERE / f"gate {key.split('/')[-2]}").open() as gate:
        flock(gate, LOCK_SH)
    return "done"


@tool(effect="pure", access="read")
def look(idempotency_key: str) -> str:
    return _do("pure", idempotency_key)


@tool(effect="keyed", access="write")
def book(idempotency_key: str) -> str:
    return _do("keyed", idempotency_key)


@tool(effect="once", access="write")
def send(idempotency_key: str) -> str:
    return _do("once", idempotency_key)


@tool(effect="once", access="write", asks="high")
def pay(idempotency_key: str) -> str:
    return _do("once", idempotency_key)
'''


class Shop:
    def __init__(self, program: Program, storage: Storage) -> None:
        self.program = program
        self.storage = storage
        self.folder = program.folder
        self._processes: list[subprocess.Popen[str]] = []

    def write(self, script: dict[str, Any], agents: dict[str, str] | None = None, settings: str = "") -> None:
        """Each agent of the script, with all tools."""
        storage = f"storage: {{url: '{self.storage.url}', project: {self.storage.project}}}\n"
        tools = "tools: {t: {kind: python, module: t.py}}\n"
        files = {name: "tools: [t]" for name in script} | (agents or {})
        (self.folder / "t.py").write_text(TOOLS)
        self.program.write(files, script, SETTINGS + storage + tools + settings)
        assert self.program("trust", "--yes").code == 0

    def submit(self, agent: str = "a.ai", times: int = 1) -> list[str]:
        async def submitted() -> list[str]:
            async with Folkmoot.open(self.folder) as moot:
                return [await moot.submit(agent, "hello") for _ in range(times)]

        return asyncio.run(submitted())

    def worker(self, *options: str, lease: str = "60s") -> subprocess.Popen[str]:
        """A process that is ready. Only where another shall take over from it does it lose its runs soon."""
        process = self.program.started("worker", "--lease", lease, *options)
        self._processes.append(process)
        wait_for(process.stderr, "runs at once")
        return process

    def until(self, run: str, *types: str, seconds: float = 60.0) -> list[Entry]:
        """What a run's journal holds as soon as one of these events stands there."""

        async def followed(journal: PostgresJournal) -> list[Entry]:
            seen = []
            async with asyncio.timeout(seconds):
                async for entry in journal.follow():
                    if entry.stream == run:
                        seen.append(entry)
                        if entry.event.type in types:
                            return seen
            raise AssertionError

        try:
            return self._with_journal(followed)
        except TimeoutError:
            raise AssertionError(
                f"{run} never came to {types}: {self.program('runs', 'show', run).out}"
            ) from None

    def ended(self, runs: Sequence[str], seconds: float = 60.0) -> None:
        """Return when all of these have ended well; each has one end, and the journal keeps the contract."""
        ends = tuple(end.type for end in RUN_ENDS)
        for run in runs:
            entries = self.until(run, *ends, seconds=seconds)
            assert entries[-1].event.type == "run.completed", entries[-1]
        verdict = self._with_journal(lambda journal: verify(journal))
        assert not verdict.faults, verdict.faults

    def done(self) -> list[tuple[str, str, str]]:
        """Effect, process and key of everything that tools did."""
        file = self.folder / "done"
        lines = file.read_text().splitlines() if file.exists() else []
        return [(effect, pid, key) for effect, pid, key in map(str.split, lines)]

    def calls_made(self, number: int) -> None:
        """Return when tools were called so many times."""
        soon(lambda: len(self.done()) >= number)

    def stops_taking_runs(self, worker: subprocess.Popen[str]) -> None:
        """Return when a worker has heard that it is to stop."""
        wait_for(worker.stderr, "stopping")

    @contextmanager
    def gate(self, turn: int = 1) -> Iterator[None]:
        """Inside, every call of a tool in this turn of an agent waits; at the end all go on."""
        gate = self.folder / f"gate turn:{turn}"
        with gate.open("w") as closed:
            flock(closed, LOCK_EX)
            try:
                yield
            finally:
                gate.unlink()

    def wake(self, run: str) -> None:
        async def woken() -> None:
            journal = PostgresJournal(self.storage)
            await journal.wake([run])
            await journal.close()

        asyncio.run(woken())

    def no_job_left(self, server: PostgresServer) -> None:
        soon(lambda: not self._queues(server))

    def has_job(self, server: PostgresServer, queue: str) -> None:
        soon(lambda: queue in self._queues(server))

    def _queues(self, server: PostgresServer) -> list[str]:
        """Of all jobs that wait."""
        jobs = f'"folkmoot-queue_{self.storage.project}".procrastinate_jobs'
        return [queue for (queue,) in server.query(f"SELECT queue_name FROM {jobs} WHERE status = 'todo'")]

    def close(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def _with_journal(self, work: Callable[[PostgresJournal], Any]) -> Any:
        async def worked() -> Any:
            journal = PostgresJournal(self.storage, readonly=True)
            try:
                return await work(journal)
            finally:
                await journal.close()

        return asyncio.run(worked())
