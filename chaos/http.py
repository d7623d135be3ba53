"""Many runs over HTTP: `folkmoot serve` on top of many past runs, asked steadily and then all at once.

`python -m chaos.http FILE serve …` is the program itself with a watch around its application; at its end the file has
the milliseconds of each `POST /api/runs`, from the last byte of the request to the last one of the answer.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bench.large import written
from chaos.load import CLERK, SETTINGS
from chaos.project import allow
from folkmoot import Folkmoot, MemoryJournal, ScriptedModel, Surroundings
from folkmoot.cli.main import main
from folkmoot.contract.verify import verify
from folkmoot.domain.catalogue import named_by
from folkmoot.http import server as product
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Query, RunQuery

ROOT = Path(__file__).parent.parent
RATE = 50
"""Runs per second that are asked for at first; later come as many at once."""
PAST = 10
"""Past runs for each of them."""
_EVERY = 0.05
"""Seconds between two looks at the server's health."""
_PATIENCE = 120.0
_TOOLS = "tools: {shop: {kind: python, module: shop.py}}\n"
_SHOP = "from chaos.load import look\n"
_CALL = {"calls": [{"tool": "shop__look", "arguments": {"what": "order 1042"}}]}
_SCRIPT: list[Any] = [_CALL | {"delay": "1s"}, {"report": "Thank you.", "delay": "1s"}]
"""A second for each answer, so that many runs are held at once."""
_GOODBYE = "stopping; runs are left for whoever goes on with them\n"
_REQUEST = {"agent": "clerk", "request": "I was charged twice for order 1042."}


class Part(NamedTuple):
    """Milliseconds, of the requests that came spread or at once."""

    median: float
    """From request read to answer written."""
    p99: float
    client_p99: float
    """The same with the time in which the request waits to be read, as its client sees it."""
    health: float
    """The longest wait for `/api/health` meanwhile."""


class Figures(NamedTuple):
    spread: Part
    burst: Part
    past: int
    seconds: float
    """From the first request until every run has ended."""
    faults: Sequence[str]


def serve_many(runs: int) -> Figures:
    """So many runs at the rate, and as many again at once."""
    with tempfile.TemporaryDirectory(prefix="folkmoot-chaos-") as name:
        folder = allow(Path(name))
        (folder / "folkmoot.yaml").write_text(SETTINGS + _TOOLS)
        (folder / "script.yaml").write_text(json.dumps({"agents": {"clerk": _SCRIPT}}))
        (folder / "shop.py").write_text(_SHOP)
        (folder / "clerk.ai").write_text(CLERK.replace("look", "shop.look"))
        asyncio.run(_write_past(folder, PAST * runs))
        return asyncio.run(_measured(folder, runs))


async def _write_past(folder: Path, runs: int) -> None:
    """One run, written again under other names."""
    memory, script = MemoryJournal(), {"clerk": [_CALL, "Thank you."]}
    around = Surroundings(env={}, journal=memory)
    async with Folkmoot.open(folder, models={"scripted": ScriptedModel(script)}, around=around) as moot:
        result = await moot.run("clerk", _REQUEST["request"])
    drafts = [entry.draft async for entry in memory.read(Query(stream=result.run_id))]
    contents = [await memory.artifact(id) for draft in drafts for id in named_by(draft.event)]
    journal = SqliteJournal.open(folder, time.monotonic)
    await written(journal, drafts, contents, (runs - 1) * len(drafts))
    await journal.close()


async def _measured(folder: Path, runs: int) -> Figures:
    faults: list[str] = []
    with _served(folder) as server:
        began = time.monotonic()
        first = await _ask(server.address, runs, runs / RATE)
        faults += await _left(folder, first)
        second = await _ask(server.address, runs, 0.0)
        faults += await _left(folder, second)
        took = time.monotonic() - began
    faults += [*first.faults, *second.faults, *server.said.splitlines()]
    faults += await _lost(folder, [*first.runs, *second.runs])
    times: list[float] = json.loads(server.times.read_text())
    spread, burst = _figures(times[:runs], first), _figures(times[runs:], second)
    return Figures(spread, burst, PAST * runs, took, faults)


def _figures(times: Sequence[float], asked: _Asked) -> Part:
    return Part(_part(times, 0.5), _part(times, 0.99), _part(asked.waits, 0.99), max(asked.health))


def _part(milliseconds: Sequence[float], part: float) -> float:
    return sorted(milliseconds)[int(len(milliseconds) * part)] if milliseconds else float("inf")


@dataclass
class _Asked:
    """What came of requests for runs; times in milliseconds."""

    runs: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


async def _ask(address: str, runs: int, spread: float) -> _Asked:
    asked = _Asked()
    connector, limit = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=_PATIENCE)
    async with aiohttp.ClientSession(address, connector=connector, timeout=limit) as session:

        async def start(number: int) -> None:
            await asyncio.sleep(spread * number / runs)
            began = time.perf_counter()
            try:
                async with session.post("/api/runs", json=_REQUEST) as answer:
                    said = await answer.text()
                if answer.status == 202:
                    asked.runs.append(json.loads(said)["runId"])
                else:
                    asked.faults.append(f"a run was refused: {answer.status} {said[:200]}")
            except (aiohttp.ClientError, TimeoutError) as error:
                asked.faults.append(f"a request was not answered: {error!r}")
            asked.waits.append((time.perf_counter() - began) * 1000)

        with _looking_after(address, asked.health):
            await asyncio.gather(*map(start, range(runs)))
    return asked


@contextmanager
def _looking_after(address: str, waits: list[float]) -> Iterator[None]:
    """Asks for the server's health until the end of the block, in a thread: clients by the thousand are slow too."""
    over = threading.Event()
    connection = http.client.HTTPConnection(address.split("/")[2], timeout=_PATIENCE)

    def look() -> None:
        while not over.wait(_EVERY) or not waits:
            began = time.perf_counter()
            connection.request("GET", "/api/health")
            connection.getresponse().read()
            waits.append((time.perf_counter() - began) * 1000)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        connection.close()


async def _left(folder: Path, asked: _Asked) -> list[str]:
    """When all these runs have completed, or do not."""
    wanted, began = RunQuery(runs=tuple(asked.runs), statuses=("completed",)), time.monotonic()
    journal = SqliteJournal.open(folder, time.monotonic, readonly=True)
    try:
        while missing := len(asked.runs) - await journal.count_runs(wanted):
            if time.monotonic() - began > _PATIENCE:
                return [f"{missing} runs did not complete"]
            await asyncio.sleep(0.2)
    finally:
        await journal.close()
    return []


async def _lost(folder: Path, runs: Sequence[str]) -> list[str]:
    """Runs that were taken over from the server, by itself or another; and what else is wrong with the journal."""
    journal = SqliteJournal.open(folder, time.monotonic, readonly=True)
    try:
        claims = await journal.claims(runs)
        lost = [
            f"run {claim.run} was taken over {claim.epoch - 1} times" for claim in claims if claim.epoch > 1
        ]
        return lost + [str(fault) for fault in (await verify(journal)).faults]
    finally:
        await journal.close()


class _Server:
    def __init__(self, times: Path, process: subprocess.Popen[str]) -> None:
        self.times = times
        self._process = process
        self.said = ""
        """After its address; known in the end."""
        assert process.stderr
        greeting = process.stderr.readline()
        found = re.search(r" at (http://\S+)/ ", greeting)
        if not found:
            raise RuntimeError(f"the server does not start: {greeting}{process.stderr.read()}")
        self.address = found[1]

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        _, said = self._process.communicate(timeout=60)
        self.said = said.replace(_GOODBYE, "")


@contextmanager
def _served(folder: Path) -> Iterator[_Server]:
    times = folder / "times.json"
    command = [
        sys.executable,
        "-m",
        "chaos.http",
        str(times),
        "--project",
        str(folder),
        "serve",
        "--port",
        "0",
    ]
    with subprocess.Popen(
        [*command, "--no-watch"], cwd=ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            server = _Server(times, process)
            yield server
            server.stop()
        finally:
            process.kill()


class _Timed:
    """An application with a watch."""

    def __init__(self, app: ASGIApp, times: list[float]) -> None:
        self._app = app
        self._times = times

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (scope["method"], scope["path"]) != ("POST", "/api/runs"):
            await self._app(scope, receive, send)
            return
        read = 0.0

        async def receiving() -> Message:
            nonlocal read
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                read = time.perf_counter()
            return message

        async def sending(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self._times.append((time.perf_counter() - read) * 1000)

        await self._app(scope, receiving, sending)


def _serve(times: Path, arguments: list[str]) -> int:
    milliseconds: list[float] = []
    make = product.build_application
    product.build_application = lambda *given: _Timed(make(*given), milliseconds)  # type: ignore[assignment]
    sys.argv = ["folkmoot", *arguments]
    try:
        return main()
    finally:
        times.write_text(json.dumps(milliseconds))


if __name__ == "__main__":
    sys.exit(_serve(Path(sys.argv[1]), sys.argv[2:]))
