"""How commands reach what outlives runs: the records of a project, without its tools and models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console
from rich.live import Live
from rich.text import Text

from folkmoot.cli.call import Call
from folkmoot.cli.records import has_run, opened, require_runs
from folkmoot.cli.shown import shown
from folkmoot.domain.agent import Graph
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.projections import project
from folkmoot.engine.workshop import load_project, open_journal
from folkmoot.journal.database import FOLDER
from folkmoot.journal.memory import MemoryJournal
from folkmoot.operations.operation import Operation
from folkmoot.operations.project import OpenProject
from folkmoot.ports import Clock

if TYPE_CHECKING:
    from folkmoot.engine.collaboration import Control
    from folkmoot.views.work_sessions import WorkRow

R = TypeVar("R")
LOOK = 0.5
"""Seconds from one look at a record that is followed to the next."""


@asynccontextmanager
async def reading(folder: Path) -> AsyncIterator[OpenProject]:
    """Whatever state the project's files are in."""
    async with opened(folder) as journal:
        yield OpenProject(journal, SystemClock(), Graph({}))


@asynccontextmanager
async def project_for(call: Call, operation: Operation[Any]) -> AsyncIterator[OpenProject]:
    """What an operation needs: to read, no more than the journal, and the files where they must say who is an agent."""
    if not operation.reads:
        opening = changing(call) if operation.reads_files else _records(call, operation)
        async with opening as project:
            project.host = _Host(project)
            yield project
        return
    named = getattr(operation, "agent", "")
    graph = load_project(call.folder, overrides=call.overrides).graph if named else Graph({})
    if not operation.subject and not has_run(call.folder):
        yield OpenProject(MemoryJournal(), SystemClock(), graph)
        return
    async with opened(call.folder) as journal:
        yield OpenProject(journal, SystemClock(), graph)


@asynccontextmanager
async def _records(call: Call, operation: Operation[Any]) -> AsyncIterator[OpenProject]:
    """To change records, whatever state the project's files are in. The first thing that ever happens in a project may
    be that something is created."""
    journal = open_journal(call.folder if operation.creates else require_runs(call.folder))
    try:
        yield OpenProject(journal, SystemClock(), Graph({}))
    finally:
        await journal.close()


@dataclass(frozen=True)
class _Host:
    """No run goes on in a command that does an operation."""

    project: OpenProject

    @property
    def control(self) -> Control:
        from folkmoot.engine.collaboration import Control
        from folkmoot.engine.local import LocalEngine

        return Control(self.project.work_sessions, LocalEngine(self.project.journal, self.project.clock))

    async def work_rows(self) -> list[WorkRow]:
        from folkmoot.cli.working import read_rows

        return await read_rows(self.project.journal)

    def go_on(self, run: str) -> None:
        pass


@asynccontextmanager
async def changing(call: Call) -> AsyncIterator[OpenProject]:
    """Also of a project in which nothing has happened yet. Its files are read, because they say who is an agent and who
    leads; those that follow from the records are written afterwards."""
    graph = load_project(call.folder, overrides=call.overrides).graph
    journal = open_journal(call.folder)
    try:
        moot = OpenProject(journal, SystemClock(), graph)
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
