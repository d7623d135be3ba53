"""How commands reach what outlives runs: the records of a project, without its tools and models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.live import Live
from rich.text import Text

from folkmoot.cli.call import Call
from folkmoot.cli.records import has_run, opened
from folkmoot.cli.shown import shown
from folkmoot.coordination.moot import Moot
from folkmoot.domain.agent import Graph
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.loading import load_project
from folkmoot.engine.projections import project
from folkmoot.engine.workshop import open_journal
from folkmoot.journal.database import FOLDER
from folkmoot.journal.memory import MemoryJournal
from folkmoot.operations.operation import Operation
from folkmoot.ports import Clock

R = TypeVar("R")
LOOK = 0.5
"""Seconds from one look at a record that is followed to the next."""


@asynccontextmanager
async def reading(folder: Path) -> AsyncIterator[Moot]:
    """Whatever state the project's files are in."""
    async with opened(folder) as journal:
        yield Moot(journal, SystemClock(), Graph({}))


@asynccontextmanager
async def project_for(call: Call, operation: Operation[Any]) -> AsyncIterator[Moot]:
    """What an operation needs: to read, no more than the journal, and the files where they must say who is an agent."""
    if not operation.reads:
        async with changing(call) as moot:
            yield moot
        return
    named = getattr(operation, "agent", "")
    graph = load_project(call.folder, overrides=call.overrides).graph if named else Graph({})
    if not operation.subject and not has_run(call.folder):
        yield Moot(MemoryJournal(), SystemClock(), graph)
        return
    async with opened(call.folder) as journal:
        yield Moot(journal, SystemClock(), graph)


@asynccontextmanager
async def changing(call: Call) -> AsyncIterator[Moot]:
    """Also of a project in which nothing has happened yet. Its files are read, because they say who is an agent and who
    leads; those that follow from the records are written afterwards."""
    graph = load_project(call.folder, overrides=call.overrides).graph
    journal = open_journal(call.folder)
    try:
        moot = Moot(journal, SystemClock(), graph)
        yield moot
        await project(moot, call.folder / FOLDER)
    finally:
        await journal.close()


async def redrawn(console: Console, look: Callable[[], Awaitable[tuple[R, str, bool]]], clock: Clock) -> R:
    """Draw a record again and again until it is over: `look` gives it, its text, and whether it is."""
    with Live(console=console, auto_refresh=False) as live:
        while True:
            record, text, over = await look()
            live.update(Text(shown(text)), refresh=True)
            if over:
                return record
            await clock.sleep(LOOK)
