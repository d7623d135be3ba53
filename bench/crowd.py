"""Live streams under load: many runs in progress, a client for each of some, and one that follows them all.

The server and the runs are in one process, with a journal on disk; the clients are in another. What is measured is the
time from handing an event to the journal until a client has read it from its socket.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import NamedTuple

import aiohttp

from bench.process import ROOT
from folkmoot import Folkmoot
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import RunCancelled, RunStarted, ToolFinished
from folkmoot.http.server import run_server
from folkmoot.http.state import ServerOptions, ServerState
from folkmoot.ports import Epoch, NewRun

RUNS = 1_000
RATE = 500
"""Events per second, in all."""
SECONDS = 15
FOLLOWED = 50
"""Runs with a client each; one more client follows everything."""
FOUND = ToolFinished(1, 1, "look", "x" * 300, "ev_1")
_TICK = 0.01
_PATIENCE = 30.0
"""Seconds without a word after which a client gives up."""


class Crowd(NamedTuple):
    p50: float
    """Milliseconds from append to client."""
    p99: float
    durable: float
    """The p99 of the part of it until the event is durable: what the disk takes."""
    rate: float
    """Events per second that were really appended."""
    faults: int
    """Clients that missed an event, got one twice or out of order, or ended before the others."""


def measured(folder: Path, seconds: float = SECONDS) -> Crowd:
    project = folder / "crowd"
    project.mkdir()
    (project / "folkmoot.yaml").write_text("{}\n")
    return asyncio.run(_measured(project, seconds))


async def _measured(project: Path, seconds: float) -> Crowd:
    async with Folkmoot.open(project) as moot:
        load = Load(moot)
        await load.begin()
        async with run_server(ServerState(moot=moot, door=ServerOptions(port=0))) as address:
            rate, seen = await _watched(load, address, seconds)
    return _figures(load, rate, seen)


async def _watched(load: Load, address: str, seconds: float) -> tuple[float, dict[str, list[list[float]]]]:
    """Events per second that were appended, and what each client got: pairs of seq and moment."""
    clients = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.crowd", address, *load.followed,
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, limit=1 << 30,
    )  # fmt: skip
    assert clients.stdout
    await clients.stdout.readline()
    began = time.monotonic()
    await load.produce(seconds)
    rate = len(load.appended) / (time.monotonic() - began)
    await load.end()
    seen: dict[str, list[list[float]]] = json.loads(await clients.stdout.readline())
    await clients.wait()
    return rate, seen


class Load:
    """Runs that go on, each recording something now and then."""

    def __init__(self, moot: Folkmoot) -> None:
        self._journal = moot.moot.journal
        self._clock = moot.moot.clock
        self.runs = [f"run-{number:04}" for number in range(RUNS)]
        self.followed = self.runs[:: RUNS // FOLLOWED]
        self.appended: dict[int, tuple[float, str]] = {}
        """By seq: the moment before, and the run."""
        self.waits: list[float] = []
        """Seconds until each was durable."""
        self._appending: set[asyncio.Task[None]] = set()

    async def begin(self) -> None:
        started = RunStarted("clerk.ai", "hello", "graph", "seed")
        for run in self.runs:
            draft = Draft(self._clock.now(), started, run, "0", "clerk")
            await self._journal.append(run, NewRun("bench", 3_600.0), [draft])

    async def produce(self, seconds: float) -> None:
        """At a steady rate, whether or not what was appended before is durable yet."""
        began, made = time.monotonic(), 0
        while (passed := time.monotonic() - began) < seconds:
            while made < passed * RATE:
                task = asyncio.create_task(self._append(self.runs[made * 7 % RUNS]))
                self._appending.add(task)
                task.add_done_callback(self._appending.discard)
                made += 1
            await asyncio.sleep(_TICK)
        await asyncio.gather(*self._appending)

    async def end(self) -> None:
        for run in self.followed:
            await self._append(run, RunCancelled("the bench is over"))

    async def _append(self, run: str, event: Event = FOUND) -> None:
        draft = Draft(self._clock.now(), event, run, "0", "clerk")
        moment = time.monotonic()
        (entry,) = await self._journal.append(run, Epoch(1), [draft])
        self.appended[entry.seq] = (moment, run)
        self.waits.append(time.monotonic() - moment)


def _figures(load: Load, rate: float, seen: dict[str, list[list[float]]]) -> Crowd:
    lags: list[float] = []
    faults = 0
    for run in ("", *load.followed):
        wanted = [seq for seq, (_, of) in sorted(load.appended.items()) if run in ("", of)]
        got = seen.get(run, [])
        lags += [moment - load.appended[int(seq)][0] for seq, moment in got if seq in load.appended]
        faults += [seq for seq, _ in got if seq in load.appended] != wanted
    p50, p99 = _part(lags, 0.5), _part(lags, 0.99)
    return Crowd(p50, p99, _part(load.waits, 0.99), rate, faults)


def _part(seconds: list[float], part: float) -> float:
    """Milliseconds that this part of them stays below."""
    return sorted(seconds)[int(len(seconds) * part)] * 1000 if seconds else float("inf")


async def clients(address: str, runs: list[str]) -> None:
    """Follow until all these runs have ended; then say what came."""
    seen: dict[str, list[tuple[int, float]]] = {run: [] for run in ("", *runs)}
    connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None, sock_read=_PATIENCE)
    async with aiohttp.ClientSession(address, connector=connector, timeout=timeout) as session:
        ready = asyncio.Barrier(len(seen) + 1)
        following = [
            asyncio.create_task(_follow(session, f"/api/runs/{run}/stream", 1, seen[run], ready))
            for run in runs
        ]
        following.append(asyncio.create_task(_follow(session, "/api/stream", len(runs), seen[""], ready)))
        await ready.wait()
        print("ready", flush=True)
        await asyncio.gather(*following, return_exceptions=True)
    print(json.dumps(seen), flush=True)


async def _follow(
    session: aiohttp.ClientSession,
    path: str,
    ends: int,
    seen: list[tuple[int, float]],
    ready: asyncio.Barrier,
) -> None:
    async with session.get(path) as answer:
        answer.raise_for_status()
        await answer.content.readline()
        await ready.wait()
        async for line in answer.content:
            if line.startswith(b"id: "):
                seen.append((int(line[4:]), time.monotonic()))
            ends -= line == b"event: run.cancelled\n"
            if not ends:
                return


if __name__ == "__main__":
    asyncio.run(clients(sys.argv[1], sys.argv[2:]))
