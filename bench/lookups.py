"""What a look-up costs at 1,000 and at 100,000 events: one run, a page of the list, the inbox, an approval. CPU, in
one process, alternating."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median

from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import (
    LlmResponse,
    RunCompleted,
    RunParked,
    RunStarted,
    SessionStarted,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.inbox import Item
from folkmoot.domain.inbox_events import ApprovalRequested, QuestionAnswered, QuestionAsked
from folkmoot.domain.message import Message, Usage
from folkmoot.domain.report import Outcome, Report
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.commands import find_item, read_inbox
from folkmoot.engine.local import LocalEngine
from folkmoot.engine.runs import find_run, find_run_row, list_runs
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import ItemQuery, NewRun, RunQuery

SIZES = (1_000, 100_000)
ROUNDS, LOOKS = 9, 10
_OPEN = ROUNDS * LOOKS
"""Runs that wait for an approval, whatever the size."""
_AT = "2026-03-{:02}T{:02}:{:02}:{:02}.000Z"

Look = Callable[[SqliteJournal, int], Awaitable[object]]


async def _approve(journal: SqliteJournal, number: int) -> Item:
    item = await find_item(journal, f"approval-{number}")
    await LocalEngine(journal, SystemClock()).reply(item.approve())
    return item


LOOK_UPS: dict[str, Look] = {
    "one run by its id": lambda journal, number: find_run_row(journal, f"open-{number}"),
    "the last run": lambda journal, number: find_run(journal, "last"),
    "50 of the runs": lambda journal, number: list_runs(journal, RunQuery(limit=50)),
    "what waits": lambda journal, number: read_inbox(journal, ItemQuery(status="open")),
    "an approval": _approve,
}


def milliseconds(folder: Path) -> dict[str, tuple[float, ...]]:
    """By look-up: the median of CPU at each size."""
    for size in SIZES:
        (folder / f"lookups-{size}").mkdir()
    return asyncio.run(_measure(folder))


async def _measure(folder: Path) -> dict[str, tuple[float, ...]]:
    journals = [await _journal(folder / f"lookups-{size}", size) for size in SIZES]
    took: dict[str, list[list[float]]] = {name: [[] for _ in SIZES] for name in LOOK_UPS}
    for round in range(ROUNDS):
        for name, look in LOOK_UPS.items():
            for journal, times in zip(journals, took[name], strict=True):
                began = time.process_time()
                for number in range(LOOKS):
                    await look(journal, round * LOOKS + number)
                times.append((time.process_time() - began) / LOOKS * 1000)
    for journal in journals:
        await journal.close()
    return {name: tuple(map(median, times)) for name, times in took.items()}


async def _journal(folder: Path, events: int) -> SqliteJournal:
    journal = SqliteJournal.open(folder, time.monotonic)
    ended = (events - 3 * _OPEN) // 9
    for start in range(0, ended, 500):
        numbers = range(start, min(start + 500, ended))
        await asyncio.gather(*(journal.append(f"run-{n:06}", NewRun("", 0.0), _ended(n)) for n in numbers))
    waiting = (journal.append(f"open-{n}", NewRun("", 0.0), _waiting(n)) for n in range(_OPEN))
    await asyncio.gather(*waiting)
    return journal


def _ended(number: int) -> list[Draft]:
    asked, answered = QuestionAsked(f"q-{number}", "Which?", 1, 2), QuestionAnswered(f"q-{number}", "this")
    done = RunCompleted(Outcome("a", "0", report=Report(content="Done")))
    return _drafts(number, (*_EVENTS, asked, answered, ToolFinished(1, 2, "ask_user", "this", "ev-2"), done))


def _waiting(number: int) -> list[Draft]:
    asked = ApprovalRequested(f"approval-{number}", 1, 1, "pay", {}, "hash", "medium")
    return _drafts(number, (_STARTED, asked, RunParked((asked.id,))))


def _drafts(number: int, events: Sequence[Event]) -> list[Draft]:
    at = _AT.format(1 + number // 86_400, number // 3_600 % 24, number // 60 % 60, number % 60)
    return [Draft(at, event, f"{number}:1", "0", "a", f"ws_{number}") for event in events]


_STARTED = RunStarted("a.ai", "What is the state of my order?", "graph", "seed")
_EVENTS = (
    _STARTED,
    SessionStarted("a.ai", "What is the state of my order?"),
    LlmResponse(1, 1, "m/x", Message("assistant", "Let me see."), Usage(100, 20), 0.001),
    ToolStarted(1, 1, "look", {}, "pure", "read", "key", "allowed"),
    ToolFinished(1, 1, "look", "on its way", "ev-1"),
)
