"""`folkmoot team`: how the agents of the project stand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, Call, call_of, finished

if TYPE_CHECKING:
    from folkmoot.cli.output import Cell
    from folkmoot.coordination.moot import Moot
    from folkmoot.domain.agent import Member
    from folkmoot.ports import Journal

_HEAD = ("agent", "role", "status", "heartbeat", "failures", "left alone until", "task")


def team(
    context: typer.Context,
    live: Annotated[
        bool, typer.Option("--live", help="Stay, and show what changes; Ctrl-C ends it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show how each agent stands: its role, its current task, when it last gave a sign of life, what went wrong.

    An agent is active while somebody goes on with a run in which it works; interrupted if its run was cut off, or its
    last task was given up; otherwise idle. With --live and --json each state is one document a line.

    \b
    Examples:
      folkmoot team
      folkmoot team --json
      folkmoot team --live
    """
    call = call_of(context)
    finished(_follow(call, as_json=as_json) if live else _show(call, as_json=as_json))


async def _show(call: Call, *, as_json: bool) -> None:
    async with _opened(call) as (moot, _):
        _write(await _members(moot), as_json=as_json)


async def _follow(call: Call, *, as_json: bool) -> None:
    import asyncio
    import sys
    from contextlib import suppress

    from folkmoot.cli.output import console

    shown: list[Member] | None = None
    async with _opened(call) as (moot, journal):
        with suppress(asyncio.CancelledError):
            async for _ in _beats(journal):
                members = await _members(moot)
                if members == shown:
                    continue
                if sys.stdout.isatty() and not as_json:
                    console().clear()
                _write(members, as_json=as_json)
                sys.stdout.flush()
                shown = members


@asynccontextmanager
async def _opened(call: Call) -> AsyncIterator[tuple[Moot, Journal]]:
    """For reading; a project in which nothing has happened has a team, too."""
    from folkmoot.cli.records import has_run, opened
    from folkmoot.coordination.moot import Moot
    from folkmoot.engine.clock import SystemClock
    from folkmoot.engine.workshop import load_project
    from folkmoot.journal.memory import MemoryJournal

    graph = load_project(call.folder, overrides=call.overrides).graph
    if not has_run(call.folder):
        empty = MemoryJournal()
        yield Moot(empty, SystemClock(), graph), empty
        return
    async with opened(call.folder) as journal:
        yield Moot(journal, SystemClock(), graph), journal


async def _beats(journal: Journal) -> AsyncIterator[None]:
    """Now, and after whatever happens."""
    from folkmoot.ports import Query

    yield
    newest = [entry.seq async for entry in journal.read(Query(newest_first=True, limit=1))]
    async for _ in journal.follow(newest[0] if newest else 0):
        yield


async def _members(moot: Moot) -> list[Member]:
    tasks, _ = await moot.tasks.readable()
    return await moot.team.members(tasks)


def _write(members: Sequence[Member], *, as_json: bool) -> None:
    from folkmoot.cli.output import write_json, write_table
    from folkmoot.views.team import team_document

    if as_json:
        write_json(team_document(members))
    else:
        write_table(_HEAD, map(_cells, members))


def _cells(member: Member) -> tuple[Cell, ...]:
    from folkmoot.cli.amounts import moment
    from folkmoot.cli.output import STYLES

    failures = f"{member.consecutive_failures} ({member.last_failure_reason})"
    return (
        member.agent_id,
        member.role,
        (member.status, STYLES.get(member.status, STYLES["running"] if member.status == "active" else "dim")),
        moment(member.last_heartbeat) if member.last_heartbeat else "never",
        failures if member.consecutive_failures else "",
        moment(member.backoff_until) if member.backoff_until else "",
        member.current_task_id,
    )
