"""A crowd: many runs at once in one worker, and what a step costs it and the server."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from chaos.life import Life
from chaos.load import CLERK, SETTINGS, TURNS, Slow, look
from chaos.project import allow
from folkmoot import Folkmoot, Surroundings
from folkmoot.domain.settings import Storage
from folkmoot.engine.claims import WorkerIdentity, WorkerOptions
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.ports import Query
from tests.postgres_server import running_server

PLACE = WorkerIdentity("here")
STEPS = 2 * TURNS - 1
"""Of a run: its model requests and its tool calls."""
TICKS = os.sysconf("SC_CLK_TCK")


class Figures(NamedTuple):
    steps: int
    seconds: float
    worker_ms: float
    """CPU per step."""
    server_ms: float
    failed: int
    """Runs that did not end well."""


@dataclass(frozen=True)
class _Duty:
    folder: Path
    runs: int

    async def live(self, says: int) -> None:
        around = Surroundings(env={}, place=PLACE)
        async with Folkmoot.open(
            self.folder, tools=[look], models={"scripted": Slow()}, around=around
        ) as moot:
            worker = moot.worker(WorkerOptions(PLACE, concurrency=self.runs))
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
            await worker.work()


def crowd(runs: int) -> Figures:
    with running_server() as server, tempfile.TemporaryDirectory(prefix="folkmoot-chaos-") as name:
        folder, storage = allow(Path(name)), server.storage("crowd")
        written = f"storage: {{url: '{storage.url}', project: {storage.project}}}\n"
        (folder / "folkmoot.yaml").write_text(SETTINGS + written)
        (folder / "script.yaml").write_text("{}")
        (folder / "clerk.ai").write_text(CLERK)
        asyncio.run(_submit(folder, runs))
        before, server_before = _children(), _cpu_below(os.getpid())
        began = time.monotonic()
        life = Life(_Duty(folder, runs))
        life.begin()
        completed = asyncio.run(_ended(storage, runs))
        took = time.monotonic() - began
        server_cpu = _cpu_below(os.getpid(), but=life.pid) - server_before
        os.kill(life.pid, signal.SIGTERM)
        life.over()
        steps = runs * STEPS
        return Figures(
            steps, took, (_children() - before) / steps * 1000, server_cpu / steps * 1000, runs - completed
        )


async def _submit(folder: Path, runs: int) -> None:
    around = Surroundings(env={}, place=PLACE)
    async with Folkmoot.open(folder, tools=[look], models={"scripted": Slow()}, around=around) as moot:
        await asyncio.gather(*(moot.submit("clerk.ai", "hello") for _ in range(runs)))


async def _ended(storage: Storage, runs: int) -> int:
    """How many completed, when all have ended."""
    journal = PostgresJournal(storage, readonly=True)
    try:
        while True:
            ends = Query(types=("run.completed", "run.failed", "run.cancelled"))
            ended = [entry.event.type async for entry in journal.read(ends)]
            if len(ended) == runs:
                return ended.count("run.completed")
            await asyncio.sleep(0.5)
    finally:
        await journal.close()


def _children() -> float:
    """CPU seconds of the processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _cpu_below(ancestor: int, but: int = 0) -> float:
    """CPU seconds of all processes that descend from one, and of those that have ended among them."""
    parents, spent = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                parents[int(folder.name)] = int(fields[1])
                spent[int(folder.name)] = sum(map(int, fields[11:15])) / TICKS
    return sum(cpu for pid, cpu in spent.items() if pid != but and _descends(pid, ancestor, parents))


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid := parents.get(pid, 0):
        if pid == ancestor:
            return True
    return False
