"""CPU per append of three events: `python tests/journal/measure.py [rounds]`. Not a test."""

import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from folkmoot.domain.entry import Draft
from folkmoot.domain.events import LlmRequest, LlmResponse, ToolStarted
from folkmoot.domain.message import Message, ToolCall, Usage
from folkmoot.journal.memory import MemoryJournal
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Epoch, Journal, NewRun, Query

APPENDS = 2_000
CALL = ToolCall("call_8f2k1", "files__read", {"path": "notes/plan.md", "limit": 400})
EVENTS = (
    LlmRequest(1, 1, "openai/gpt-5-mini", 4096, 9000, 0.0123),
    LlmResponse(
        1, 1, "openai/gpt-5-mini", Message("assistant", "I look it up. " * 10, (CALL,)), Usage(812, 96)
    ),
    ToolStarted(
        1, 1, "files__read", CALL.arguments, "pure", "read", "run-1/0/turn:1/call:1", "granted by the file"
    ),
)


def drafts() -> list[Draft]:
    return [
        Draft("2026-03-01T12:00:00.000Z", event, "0193f1c2-run:sub_x_1a2b3c4d", "0/turn:1/call:2", "billing")
        for event in EVENTS
    ]


async def appended(journal: Journal, run: str, appends: int) -> None:
    await journal.append(run, NewRun("owner", 60), drafts())
    for _ in range(appends - 1):
        await journal.append(run, Epoch(1), drafts())


async def sequential(journal: Journal) -> None:
    for run in range(APPENDS // 4):
        await appended(journal, f"run-{run}-{time.monotonic_ns()}", 4)


async def concurrent(journal: Journal) -> None:
    await asyncio.gather(
        *(appended(journal, f"run-{n}-{time.monotonic_ns()}", APPENDS // 200) for n in range(200))
    )


async def read_all(journal: Journal) -> None:
    count = 0
    async for _ in journal.read(Query(limit=APPENDS)):
        count += 1
    assert count == APPENDS


async def polled(journal: Journal) -> None:
    for _ in range(APPENDS):
        await journal.posts(["run-1", "run-2"])


async def measured(name: str, work: Callable[[Journal], Awaitable[None]], journal: Journal) -> None:
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    await work(journal)
    after, ended = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    each = 1e6 / APPENDS
    print(
        f"{name:26} cpu {(user + system) * each:6.1f} µs (user {user * each:5.1f}, system {system * each:5.1f})"
        f"  wall {(ended - started) * each:7.1f} µs"
    )


async def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory, sqlite = MemoryJournal(), SqliteJournal.open(Path(folder), time.monotonic)
        for _ in range(rounds):
            await measured("memory, sequential", sequential, memory)
            await measured("sqlite, sequential", sequential, sqlite)
            await measured("sqlite, 200 streams", concurrent, sqlite)
            await measured("sqlite, read one entry", read_all, sqlite)
            await measured("sqlite, look for posts", polled, sqlite)
        await sqlite.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
