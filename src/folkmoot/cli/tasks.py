"""Tasks at the terminal: shown to people, and followed as they change."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from folkmoot.cli.call import GlobalOptions, run_async
from folkmoot.cli.commands import TerminalOptions
from folkmoot.cli.output import (
    STYLES,
    Cell,
    console,
    format_local_time,
    format_one_line,
    write,
    write_json,
    write_stderr,
    write_table,
)
from folkmoot.cli.project import open_existing_journal
from folkmoot.coordination.record_store import RecordStore
from folkmoot.coordination.task_lists import step_counts
from folkmoot.domain.records import TASK
from folkmoot.domain.task import Task
from folkmoot.engine.clock import SystemClock
from folkmoot.errors import WrongUse
from folkmoot.operations.operation import Operation
from folkmoot.operations.task_reading import ListTasks, ShowTask
from folkmoot.operations.tasks import OPERATIONS, UpdateTask
from folkmoot.ports import Journal
from folkmoot.views.tasks import markdown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_HEAD = ("task", "status", "agent", "priority", "steps", "activity", "what")
_STYLES = {**STYLES, "in_progress": "cyan", "blocked": "magenta", "pending_approval": "magenta"}


def present(operation: Operation[Any], output: Any) -> None:
    if isinstance(operation, ShowTask):
        write(markdown(output).rstrip())
    elif isinstance(output, Task):
        write(describe_task(output))
    elif output:
        write_table(_HEAD, map(_cells, output))
    else:
        write_stderr("there are no such tasks")


def _read_follow_option(
    follow: Annotated[
        bool, typer.Option("--follow", "--live", help="Stay, and show what changes; Ctrl-C ends it.")
    ] = False,
) -> dict[str, Any]:
    """With --follow the list stays and is drawn again whenever a task changes; in a pipe each change is one line, with
    --json one document a line."""
    return {}


def _read_step_options(  # because every option of a command is a parameter
    complete_step: Annotated[str, typer.Option(metavar="STEP", help="It is done; the next begins.")] = "",
    start_step: Annotated[str, typer.Option(metavar="STEP", help="It is under way now.")] = "",
    skip_step: Annotated[str, typer.Option(metavar="STEP", help="It is left out.")] = "",
    add_step: Annotated[str, typer.Option(metavar="TEXT", help="One more step.")] = "",
    set_steps: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="All steps anew; repeat it for each.")
    ] = None,
    order: Annotated[str, typer.Option(metavar="STEPS", help="A new order, such as s2,s1.")] = "",
) -> dict[str, Any]:
    named = {"complete_step": complete_step, "start_step": start_step, "skip_step": skip_step}
    wanted: list[dict[str, Any]] = [
        {"action": action, "step_id": step} for action, step in named.items() if step
    ]
    wanted += [{"action": "add_step", "step_content": add_step}] if add_step else []
    wanted += [{"action": "set_steps", "steps": set_steps}] if set_steps else []
    wanted += [{"action": "reorder_steps", "steps_order": order.split(",")}] if order else []
    if len(wanted) > 1:
        raise WrongUse("one change of the steps at a time; call it once for each")
    return wanted[0] if wanted else {}


def _follow_tasks(call: GlobalOptions, wanted: ListTasks, as_json: bool, *, follow: bool) -> None:
    run_async(_show_changes(call, wanted, as_json))


async def _show_changes(call: GlobalOptions, wanted: ListTasks, as_json: bool) -> None:
    """Until the user interrupts it."""
    async with open_existing_journal(call.folder) as journal:
        drawn = sys.stdout.isatty() and not as_json
        with suppress(asyncio.CancelledError):
            await (
                draw_task_list(journal, wanted, console())
                if drawn
                else _write_changes(journal, wanted, as_json)
            )


COMMANDS = OPERATIONS
TERMINAL_OPTIONS = {
    ListTasks: TerminalOptions(_read_follow_option, _follow_tasks, when=("follow",)),
    UpdateTask: TerminalOptions(_read_step_options),
}


def describe_task(task: Task) -> str:
    """A task in one line."""
    return f"{task.id} {task.status} ({task.agent_id}): {format_one_line(task.description, 80)}"


async def draw_task_list(journal: Journal, wanted: ListTasks, target: Console) -> None:
    """One list, drawn again whenever a task has changed."""
    from rich.live import Live

    with Live(console=target, auto_refresh=False) as live:
        async for tasks, _ in _follow_changes(journal):
            live.update(_render_table(wanted.select(tasks)), refresh=True)


async def _write_changes(journal: Journal, wanted: ListTasks, as_json: bool) -> None:
    """One line for each task as it is, and for each change."""
    any_end = replace(wanted, all=True)
    async for tasks, changed in _follow_changes(journal):
        shown = wanted.select(tasks) if changed is None else filter(any_end.includes, [changed])
        for task, document in zip(shown := [*shown], wanted.document(shown), strict=True):
            write_json(document) if as_json else write(describe_task(task))
        sys.stdout.flush()


async def _follow_changes(journal: Journal) -> AsyncIterator[tuple[Mapping[str, Task], Task | None]]:
    """All tasks as they are; then again after each change, with the one that changed."""
    kept = RecordStore(TASK, journal, SystemClock())
    yield await kept.all(), None
    async for entry in journal.follow(kept.seen):
        if entry.stream.startswith(TASK.prefix):
            tasks = await kept.all()
            yield tasks, tasks[entry.stream]


def _render_table(tasks: Sequence[Task]) -> Table:
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
        format_local_time(task.last_activity),
        format_one_line(task.description, 120),
    )
