"""How long it takes to find events among 100,000: by each of the things one may know of them."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from folkmoot.domain.entry import Draft
from folkmoot.domain.errand import Errand
from folkmoot.domain.events import RunStarted, ToolFinished
from folkmoot.journal.index import Index
from folkmoot.journal.sqlite import SqliteJournal
from folkmoot.ports import Filter, NewRun

EVENTS = 100_000
PER_RUN = 1_000
LOOKS = 9
WANTED = {
    "work session": Filter(work_session="ws_3"),
    "agent": Filter(agent="agent-3"),
    "step": Filter(step="s7"),
    "time": Filter(since="2026-03-01T12:40", until="2026-03-01T12:41"),
    "role": Filter(role="delegation.subagent"),
    "a role that nothing has": Filter(role="conversation.main"),
    "type": Filter(types=("tool.*",)),
    "agent, work session and type": Filter(agent="agent-3", work_session="ws_3", types=("run.*",)),
}


def milliseconds(folder: Path) -> dict[str, float]:
    """Of the slowest of the filters, the first look beside it: it takes in all that nobody has looked at."""
    return asyncio.run(_measured(folder))


async def _measured(folder: Path) -> dict[str, float]:
    (folder / "looking").mkdir()
    journal = SqliteJournal.open(folder / "looking", time.monotonic)
    for run in range(EVENTS // PER_RUN):
        await journal.append(f"run-{run}", NewRun("bench", 30.0), [*_drafts(run)])
    index = Index.open(folder / "looking")
    try:
        first = await _took(index, journal, Filter())
        looks = {
            name: median([await _took(index, journal, wanted) for _ in range(LOOKS)])
            for name, wanted in WANTED.items()
        }
    finally:
        index.close()
        await journal.close()
    return {"the first look": first, **looks}


def _drafts(run: int) -> Iterator[Draft]:
    for number in range(PER_RUN):
        event = ToolFinished(number, 1, "look", "x" * 300, f"ev-{number}")
        begun = RunStarted("a.ai", "hello", "graph", "seed", errand=Errand(step=f"s{run % 20}"))
        yield Draft(
            f"2026-03-01T12:{run % 60:02}:{number % 60:02}.000Z",
            event if number else begun,
            session_id=f"run-{run}",
            span=f"0/turn:{number}" if number % 2 else "0",
            agent_id=f"agent-{number % 20}",
            work_session_id=f"ws_{run % 10}",
        )


async def _took(index: Index, journal: SqliteJournal, wanted: Filter) -> float:
    began = time.perf_counter()
    await index.find(journal, wanted)
    return (time.perf_counter() - began) * 1000
