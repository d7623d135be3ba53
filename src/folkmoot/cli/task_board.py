"""The tasks of a project at the terminal: read, shown as they change, and changed in a person's name."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from folkmoot.cli.amounts import moment
from folkmoot.cli.call import Call
from folkmoot.cli.output import STYLES, Cell, console, say, write, write_json, write_table
from folkmoot.cli.records import has_run, opened
from folkmoot.cli.shown import in_one_line
from folkmoot.coordination.author import Author
from folkmoot.coordination.keeping import Keeper
from folkmoot.coordination.task.desk import AgentTasks
from folkmoot.coordination.task.document import document, step_counts
from folkmoot.coordination.task.picking import by_priority
from folkmoot.coordination.task.record import TASK
from folkmoot.domain.task import STATUSES, Task
from folkmoot.engine.clock import SystemClock
from folkmoot.errors import NotFound
from folkmoot.ports import Journal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_HEAD = ("task", "status", "agent", "priority", "steps", "activity", "what")
_STYLES = {**STYLES, "in_progress": "cyan", "blocked": "magenta", "pending_approval": "magenta"}


@dataclass(frozen=True)
class Wanted:
    """Which tasks are to be shown."""

    agent: str = ""
    status: str = ""
    everything: bool = False
    """Also what has ended."""

    def __post_init__(self) -> None:
        if self.status and self.status not in STATUSES:
            raise NotFound(
                f"there is no status {self.status!r}; there are {', '.join(STATUSES)}",
                code="status_not_found",
            )

    def includes(self, task: Task) -> bool:
        live = self.everything or self.status or not task.has_ended
        return bool(live) and self.agent in ("", task.agent_id) and self.status in ("", task.status)

    def of(self, tasks: Mapping[str, Task]) -> list[Task]:
        return by_priority(task for task in tasks.values() if self.includes(task))


async def read_tasks(folder: Path, wanted: Wanted) -> list[Task]:
    if not has_run(folder):
        return []
    async with opened(folder) as journal:
        return wanted.of(await _kept(journal).all())


async def read_task(folder: Path, named: str) -> Task:
    async with opened(folder) as journal:
        tasks = await _kept(journal).all()
        return tasks[TASK.resolve(tasks, named)]


async def acted(
    call: Call, named: str, agent: str, act: Callable[[AgentTasks, str], Awaitable[Task]]
) -> Task:
    """Whatever a person does to a task, for an agent or to one that they name."""
    from folkmoot.cli.asking import this_user
    from folkmoot.cli.moot import changing

    async with changing(call) as moot:
        tasks = moot.tasks.of(agent, Author(this_user()))
        return await act(tasks, TASK.resolve(await moot.tasks.all(), named) if named else "")


async def follow_tasks(folder: Path, wanted: Wanted, *, as_json: bool) -> None:
    """Until the user interrupts it."""
    async with opened(folder) as journal:
        drawn = sys.stdout.isatty() and not as_json
        with suppress(asyncio.CancelledError):
            await (draw(journal, wanted, console()) if drawn else _tell(journal, wanted, as_json))


def write_tasks(tasks: Sequence[Task], *, as_json: bool) -> None:
    if as_json:
        write_json([document(task) for task in tasks])
    elif not tasks:
        say("there are no such tasks")
    else:
        write_table(_HEAD, map(_cells, tasks))


def line(task: Task) -> str:
    """A task in one line."""
    return f"{task.id} {task.status} ({task.agent_id}): {in_one_line(task.description, 80)}"


async def draw(journal: Journal, wanted: Wanted, target: Console) -> None:
    """One list, drawn again whenever a task has changed."""
    from rich.live import Live

    with Live(console=target, auto_refresh=False) as live:
        async for tasks, _ in _changes(journal):
            live.update(_table(wanted.of(tasks)), refresh=True)


async def _tell(journal: Journal, wanted: Wanted, as_json: bool) -> None:
    """One line for each task as it is, and for each change."""
    any_end = replace(wanted, everything=True)
    async for tasks, changed in _changes(journal):
        for task in wanted.of(tasks) if changed is None else filter(any_end.includes, [changed]):
            write_json(document(task)) if as_json else write(line(task))
        sys.stdout.flush()


async def _changes(journal: Journal) -> AsyncIterator[tuple[Mapping[str, Task], Task | None]]:
    """All tasks as they are; then again after each change, with the one that changed."""
    kept = _kept(journal)
    yield await kept.all(), None
    async for entry in journal.follow(kept.seen):
        if entry.stream.startswith(TASK.prefix):
            tasks = await kept.all()
            yield tasks, tasks[entry.stream]


def _table(tasks: Sequence[Task]) -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    for name in _HEAD:
        grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1 if name == "what" else None)
    grid.add_row(*(Text(name.upper(), "dim") for name in _HEAD))
    for task in tasks:
        cells = [(cell, "") if isinstance(cell, str) else cell for cell in _cells(task)]
        grid.add_row(*(Text(text, style) for text, style in cells))
    return grid


def _cells(task: Task) -> tuple[Cell, ...]:
    counts = step_counts(task)
    return (
        task.id,
        (task.status, _STYLES.get(task.status, "")),
        task.agent_id,
        task.priority,
        f"{counts['done'] + counts['skipped']}/{counts['total']}" if task.steps else "",
        moment(task.last_activity),
        in_one_line(task.description, 120),
    )


def _kept(journal: Journal) -> Keeper[Task]:
    return Keeper(TASK, journal, SystemClock())
