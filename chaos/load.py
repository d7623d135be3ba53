"""Load: many runs at once in one process, and how long each waits until its events are durable."""

from __future__ import annotations

import asyncio
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from folkmoot import Folkmoot, ScriptedModel, Surroundings, tool
from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.message import Answer
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Epoch, Hear, NewRun, Request, Version

SETTINGS = """
providers: {scripted: {kind: scripted, script: script.yaml}}
models: {default: scripted/any}
"""
CLERK = "---\ndescription: Looks things up.\ntools: [look]\n---\nYou are the clerk of a small shop.\n"
TURNS = 5
"""Of each run: a tool call in all but the last."""
RAMP = 3.0
"""Seconds in which the runs begin, one after the other."""
LATENCY = (1.0, 3.0)
"""Seconds that the model takes to answer, so that all runs are under way at once for a while."""


class Figures(NamedTuple):
    runs: int
    seconds: float
    appends: int
    median_ms: float
    p99_ms: float
    """From handing events over until they are durable."""
    megabytes: float
    """The most that the process ever held."""
    at_once: int
    """The most runs that were under way at one time."""


class Timing(SqliteJournal):
    """The product's journal with a watch."""

    waits: list[float]

    def append(
        self, stream: str, expected: NewRun | Epoch | Version, drafts: Sequence[Draft]
    ) -> asyncio.Future[Sequence[Entry]]:
        began = time.perf_counter()
        done = super().append(stream, expected, drafts)
        if done.done():
            self.waits.append(time.perf_counter() - began)
        else:
            done.add_done_callback(lambda _: self.waits.append(time.perf_counter() - began))
        return done


@tool(effect="once", access="write")
async def look(what: str) -> str:
    """Look something up, in a way that must not be repeated: its intent is durable first."""
    return f"{what}: two payments of 39.90 EUR, on the 3rd and the 4th; one of them is marked as a retry."


class Slow:
    """A model that takes its time."""

    def __init__(self) -> None:
        call = {"tool": "look", "arguments": {"what": "order 1042"}}
        self._scripted = ScriptedModel({"clerk": [{"calls": [call]}] * (TURNS - 1) + ["Thank you."]})
        self._dice = random.Random(1)

    async def answer(self, request: Request, hear: Hear | None = None) -> Answer:
        await asyncio.sleep(self._dice.uniform(*LATENCY))
        self._scripted.heard.clear()
        return await self._scripted.answer(request, hear)


def load(runs: int) -> Figures:
    with tempfile.TemporaryDirectory(prefix="folkmoot-load-") as folder:
        place = Path(folder)
        (place / "folkmoot.yaml").write_text(SETTINGS)
        (place / "script.yaml").write_text("{}")
        (place / "clerk.ai").write_text(CLERK)
        return asyncio.run(_measured(place, runs))


async def _measured(folder: Path, runs: int) -> Figures:
    journal = Timing.open(folder, time.monotonic)
    journal.waits = []
    under_way = most = 0

    async def run(moot: Folkmoot, number: int) -> None:
        nonlocal under_way, most
        await asyncio.sleep(RAMP * number / runs)
        under_way += 1
        most = max(most, under_way)
        result = await moot.run("clerk", f"I was charged twice for order {number}.")
        under_way -= 1
        if not result.success:
            raise RuntimeError(f"a run failed: {result.error}")

    around = Surroundings(env={}, journal=journal)
    async with Folkmoot.open(folder, tools=[look], models={"scripted": Slow()}, around=around) as moot:
        began = time.perf_counter()
        await asyncio.gather(*(run(moot, number) for number in range(runs)))
        took = time.perf_counter() - began
    await journal.close()
    waits = sorted(journal.waits)
    return Figures(
        runs,
        took,
        len(waits),
        statistics.median(waits) * 1000,
        waits[int(len(waits) * 0.99)] * 1000,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1024),
        most,
    )
