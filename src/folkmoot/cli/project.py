"""How commands open a project: its journal, and of its files no more than an operation needs."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from folkmoot.cli.call import GlobalOptions, Target
from folkmoot.cli.output import sanitize_text, write_stderr
from folkmoot.domain.agent import Graph
from folkmoot.domain.entry import Entry
from folkmoot.domain.naming import LAST
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.workshop import load_project, open_journal
from folkmoot.errors import FolkmootError, WrongUse
from folkmoot.journal.database import FILE, FOLDER
from folkmoot.journal.sqlite import MemoryJournal
from folkmoot.loader.project_file import storage_of
from folkmoot.operations.operation import Operation
from folkmoot.operations.project import OpenProject
from folkmoot.ports import Clock, Filter, Journal, Query

if TYPE_CHECKING:
    from rich.console import Console

    from folkmoot.domain.sinks import SinkSettings
    from folkmoot.orchestration.kit import ToolsetFactory
    from folkmoot.views.conversations import Conversation
    from folkmoot.views.work_sessions import WorkRow

R = TypeVar("R")
LOOK = 0.5
"""Seconds from one look at a record that is followed to the next."""


@asynccontextmanager
async def open_existing_journal(folder: Path, *, readonly: bool = True) -> AsyncIterator[Journal]:
    """Raises `WrongUse` if nothing ever ran in `folder`."""
    journal = open_journal(require_runs(folder), readonly=readonly)
    journal.progress = _build_progress_callback()
    try:
        yield journal
    finally:
        await journal.close()


def _build_progress_callback() -> Callable[[int, int], None]:
    """About lists that are brought up to date, once a second."""
    told = time.monotonic()

    def tell(done: int, entries: int) -> None:
        nonlocal told
        if time.monotonic() - told > 1:
            told = time.monotonic()
            write_stderr(f"bringing the lists of this journal up to date: {100 * done // max(entries, 1)} %")

    return tell


def require_runs(folder: Path) -> Path:
    if not has_run(folder):
        raise WrongUse(
            f"nothing has run in {folder} yet; `folkmoot run AGENT TEXT` starts something",
            code="nothing_has_run",
        )
    return folder


def has_run(folder: Path) -> bool:
    """Or may have: where the journal is shared, only reading it tells."""
    return (folder / FOLDER / FILE).is_file() or storage_of(folder, os.environ).url is not None


@asynccontextmanager
async def open_for_operation(
    call: GlobalOptions, operation: Operation[Any], target: Target | None = None
) -> AsyncIterator[OpenProject]:
    """What an operation needs: to read, no more than the journal, and the files where they must say who is an agent;
    or only `target` and what that refers to."""
    if operation.of_files:
        target = target or Target(folder=call.folder, agent="")
        yield build_project(target.folder, MemoryJournal(), call.load(target).graph)
        return
    by_files = operation.reads_files
    if by_files is None:
        by_files = not operation.reads or bool(getattr(operation, "agent", ""))
    graph = load_project(call.folder, overrides=call.overrides).graph if by_files else Graph({})
    if operation.reads or operation.needs_runs:
        named = getattr(operation, operation.subject) if operation.subject else LAST
        needs_runs = bool(operation.subject) if operation.needs_runs is None else operation.needs_runs
        empty = named == LAST and not (needs_runs or has_run(call.folder))
        async with (
            _open_empty_journal()
            if empty
            else open_existing_journal(call.folder, readonly=operation.reads) as journal
        ):
            yield build_project(call.folder, journal, graph)
        return
    journal = open_journal(call.folder if by_files or operation.creates else require_runs(call.folder))
    try:
        project = build_project(call.folder, journal, graph)
        yield project
        if by_files:
            from folkmoot.engine.outlets import write_record_files as write_files

            await write_files(project, call.folder / FOLDER)
    finally:
        await journal.close()


@asynccontextmanager
async def _open_empty_journal() -> AsyncIterator[Journal]:
    yield MemoryJournal()


@asynccontextmanager
async def open_readonly_project(folder: Path) -> AsyncIterator[OpenProject]:
    """Whatever state the project's files are in."""
    async with open_existing_journal(folder) as journal:
        yield build_project(folder, journal, Graph({}))


def build_project(folder: Path, journal: Journal, graph: Graph) -> OpenProject:
    project = OpenProject(journal, SystemClock(), graph)
    project.host = _CommandHost(folder, project)
    return project


@dataclass(frozen=True)
class _CommandHost:
    """No run goes on in a command that does an operation."""

    folder: Path
    project: OpenProject

    def tools(self) -> ToolsetFactory:
        from folkmoot.engine.workshop import ProjectWiring, Surroundings
        from folkmoot.operations.records import RECORDS

        workshop = ProjectWiring(self.folder, [], {}, Surroundings(), RECORDS)
        kits, left_out = workshop.describe(self.project.graph)
        if left_out:
            write_stderr(
                f"not allowed yet, and so left out: the tools of {', '.join(left_out)}; see `folkmoot trust`"
            )
        return kits

    def sinks(self) -> list[SinkSettings]:
        """None, as long as the files are not sound: a run is shown whatever became of them."""
        with suppress(FolkmootError):
            return [*load_project(self.folder).graph.settings.sinks.values()]
        return []

    async def find(self, wanted: Filter) -> list[Entry]:
        from folkmoot.journal.index import Index

        with closing(Index.open(self.folder)) as index:
            return await index.find(self.project.journal, wanted)

    async def work_rows(self) -> list[WorkRow]:
        from folkmoot.views.work_sessions import WorkList

        rows = WorkList([entry async for entry in self.project.journal.read(Query())])
        return [*rows.rows(self.project.clock.now())]

    async def find_work(self, name: str) -> WorkRow:
        """Of its own entries alone."""
        from folkmoot.domain.records import WORK_SESSION
        from folkmoot.journal.index import Index
        from folkmoot.views.work_sessions import WorkList

        beginning = "" if name == LAST else name.removeprefix(WORK_SESSION.prefix)
        with closing(Index.open(self.folder)) as index:
            ids = await index.work_sessions(self.project.journal, beginning)
        found = await self.find(
            Filter(work_session=WORK_SESSION.resolve(ids, name), limit=2**31, oldest_first=True)
        )
        (row,) = WorkList(found).rows(self.project.clock.now())
        return row

    async def threads(self, *, delegated: bool) -> Mapping[str, Conversation]:
        from folkmoot.views.conversations import EVENTS, Conversations

        found = Conversations(delegated=delegated)
        async for entry in self.project.journal.read(Query(types=EVENTS)):
            found.take(entry.draft)
        return found.threads

    def go_on(self, run: str) -> None:
        pass


async def redraw(console: Console, look: Callable[[], Awaitable[tuple[R, str, bool]]], clock: Clock) -> R:
    """Draw a record again and again until it is over: `look` gives it, its text, and whether it is."""
    from rich.live import Live
    from rich.text import Text

    with Live(console=console, auto_refresh=False) as live:
        while True:
            record, text, over = await look()
            live.update(Text(sanitize_text(text)), refresh=True)
            if over:
                return record
            await clock.sleep(LOOK)
