"""`folkmoot work`: how it reads its arguments, and shows what there is and what changes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
import typer
from msgspec.structs import replace

from folkmoot.cli.call import GlobalOptions, get_global_options, run_async
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
from folkmoot.cli.project import open_readonly_project
from folkmoot.coordination.work_teams import Seat
from folkmoot.domain.agent import MemberRole
from folkmoot.domain.work_session import Action, Roster, WorkState
from folkmoot.engine.history import last_position
from folkmoot.errors import NotFound, WrongUse
from folkmoot.operations.operation import Operation
from folkmoot.operations.work_reading import ListWorkSessions, ShowTimeline, ShowWorkSession
from folkmoot.operations.work_sessions import (
    OPERATIONS,
    AddArtifact,
    CancelWorkSession,
    CategoriseWorkSession,
    ChangeState,
    FormTeam,
    LabelWorkSession,
    OpenWorkSession,
    PauseWorkSession,
    ResumeWorkSession,
)
from folkmoot.views.timeline import TimelineEntry, timeline_entry
from folkmoot.views.work_sessions import WorkList, WorkRow

Live = Annotated[bool, typer.Option("--live", help="Stay, and show what happens, until Ctrl-C.")]
_BEAT = 0.1
"""Seconds between two looks of a live list."""
_HEAD = ("id", "status", "state", "title", "category", "who and when")
_ID = 11
"""Characters of an id in a list: enough to name one, and room for what it is about."""
_STYLES = {"ACTIVE": STYLES["running"], "QUIET": STYLES["completed"], "ARCHIVED": STYLES["pruned"]}


def _read_list_options(
    status: Annotated[
        str, typer.Option(metavar="STATUS", help="Only those that are ACTIVE, QUIET or ARCHIVED.")
    ] = "",
    live: Live = False,
) -> dict[str, Any]:
    return {"status": status.upper()}


def _follow_rows(call: GlobalOptions, wanted: ListWorkSessions, as_json: bool, **_: object) -> None:
    _run_until_interrupted(_show_live(call, wanted, as_json=as_json))


async def _show_live(call: GlobalOptions, wanted: ListWorkSessions, *, as_json: bool) -> None:
    """On a terminal the list stays in place; elsewhere each row that changed is a line."""
    told: dict[str, WorkRow] = {}
    async for rows in _follow_row_changes(call):
        fitting = [row for row in rows if wanted.includes(row)]
        news = [row for row in fitting if told.get(row.id) != row]
        told = {row.id: row for row in fitting}
        if as_json:
            for row in news:
                write_json(row)
        elif console().is_terminal:
            console().clear()
            write_table(_HEAD, map(_cells, fitting))
        else:
            for row in news:
                write("  ".join(cell if isinstance(cell, str) else cell[0] for cell in _cells(row)))


async def _follow_row_changes(call: GlobalOptions) -> AsyncIterator[list[WorkRow]]:
    """The list as it is, then again soon after something has happened, without end."""
    async with open_readonly_project(call.folder) as project:
        rows, news, journal = WorkList(), asyncio.Event(), project.journal
        newest = await last_position(journal)

        async def take() -> None:
            async for entry in journal.follow():
                rows.take(entry)
                if entry.seq >= newest:
                    news.set()

        taking = asyncio.create_task(take())
        taking.add_done_callback(lambda _: news.set())
        try:
            while not taking.done():
                await news.wait()
                news.clear()
                yield [*rows.rows(project.clock.now())]
                await asyncio.sleep(_BEAT)
            taking.result()
        finally:
            taking.cancel()


def _read_live_option(live: Live = False) -> dict[str, Any]:
    """With --live and --json, each line is one JSON document."""
    return {}


def _follow_timeline(call: GlobalOptions, wanted: ShowTimeline, as_json: bool, *, live: bool) -> None:
    _run_until_interrupted(_write_live_timeline(call, wanted.work, as_json=as_json))


async def _write_live_timeline(call: GlobalOptions, work: str, *, as_json: bool) -> None:
    """What happened, then what happens, without end."""
    async with open_readonly_project(call.folder) as project:
        id = (await project.host.find_work(work)).id
        async for entry in project.journal.follow():
            if entry.draft.work_session_id == id and (line := timeline_entry(entry)):
                write_json(line) if as_json else write("  ".join(_timeline_cells(line)))
                sys.stdout.flush()  # a pipe would keep it until it has more


_CHANGES: Mapping[type, Callable[[Any, Any], str]] = {
    FormTeam: lambda _, output: f"has its team: {describe_team(output.team)}",
    CategoriseWorkSession: lambda operation, _: f"is about {operation.category}",
    LabelWorkSession: lambda operation, _: f"is called {operation.label}",
    AddArtifact: lambda operation, _: f"has a {operation.kind} more: {operation.title}",
    PauseWorkSession: lambda _, work: (
        f"is paused: its runs ask no model until folkmoot work resume {work.id}"
    ),
    ResumeWorkSession: lambda _, __: "goes on",
    CancelWorkSession: lambda _, work: (
        f"is cancelled, and its runs with it: {', '.join(work.runs) or 'there were none'}"
    ),
}


def present(operation: Operation[Any], output: Any) -> None:
    match operation:
        case OpenWorkSession():
            write(output.id)
        case ListWorkSessions() if not output:
            write_stderr("there is no such work session")
        case ListWorkSessions():
            write_table(_HEAD, map(_cells, output))
        case ShowTimeline():
            write_table(("time", "kind", "what"), map(_timeline_cells, output))
        case ShowWorkSession():
            _write_document(output)
        case _:
            _write_change(operation, output)


def _write_change(operation: Operation[Any], output: Any) -> None:
    id = output["id"] if isinstance(output, dict) else output.id
    change = _CHANGES.get(type(operation), lambda _, output: f"is {output.state}")
    write_stderr(f"work session {id} {change(operation, output)}")
    if isinstance(operation, ResumeWorkSession):
        for run in output.runs:
            write_stderr(f"  to go on with what waited: folkmoot runs resume {run}")


def _write_document(shown: Mapping[str, Any]) -> None:
    for key, value in shown.items():
        match value:
            case [{}, *_]:
                write(f"{key}:")
                for each in value:
                    write(f"  {_describe_value(each)}")
            case None | "" | False | [] | ():
                pass
            case _:
                write(f"{key}: {_describe_value(value)}")


def describe_team(team: Roster | None) -> str:
    return ", ".join(f"{member.agent} ({member.role})" for member in team.members) if team else ""


def _describe_value(value: object) -> str:
    match value:
        case {"members": _}:
            return describe_team(msgspec.convert(value, Roster))
        case {"at": at, "text": text}:  # a line of the timeline
            return f"{format_local_time(at)}  {text}"
        case dict():
            return "  ".join(str(each) for each in value.values() if each not in ("", (), []))
        case list() | tuple():
            return ", ".join(map(str, value))
    return str(value)


def _read_seat_options(
    seats: Annotated[
        list[str],
        typer.Argument(
            metavar="SEAT…",
            help="`role`, `role:capability,capability`, or `role=agent`; one for each member.",
            show_default=False,
        ),
    ],
    may: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SEAT=ACTIONS", help="All that seat may do: plan, vote, execute, review, decide."
        ),
    ] = None,
    tools: Annotated[
        list[str] | None, typer.Option(metavar="SEAT=TOOLS", help="All tools that seat may use, `files.*`.")
    ] = None,
) -> dict[str, Any]:
    wanted = [_parse_seat(written) for written in seats]
    for written in may or ():
        name, words = _parse_pair("--may", written)
        for word in words:
            check_known_value("action", word, get_args(Action))
        wanted = _apply_limits(wanted, name, {"actions": words})
    for written in tools or ():
        name, words = _parse_pair("--tools", written)
        wanted = _apply_limits(wanted, name, {"tools": words})
    return {"members": wanted}


def _parse_seat(written: str) -> Seat:
    named, _, agent = written.partition("=")
    role, _, able = named.partition(":")
    check_known_value("role", role, get_args(MemberRole))
    capabilities = tuple(word.strip() for word in able.split(",") if word.strip())
    return msgspec.convert(
        {"role": role or None, "capabilities": capabilities, "agent": agent.removesuffix(".ai")}, Seat
    )


def _parse_pair(option: str, written: str) -> tuple[str, tuple[str, ...]]:
    name, equals, words = written.partition("=")
    if not name or not equals:
        raise WrongUse(f"{option} takes SEAT=WORD,WORD, such as worker=execute,vote, not {written!r}")
    return name, tuple(word for word in words.split(",") if word)


def _apply_limits(seats: Sequence[Seat], name: str, limits: Mapping[str, Any]) -> list[Seat]:
    if not any(name in (seat.role, seat.agent) for seat in seats):
        raise WrongUse(
            f"no seat is {name!r}; the seats are {', '.join(seat.agent or str(seat) for seat in seats)}"
        )
    return [
        replace(seat, policy=replace(seat.policy, **limits)) if name in (seat.role, seat.agent) else seat
        for seat in seats
    ]


def _read_artifact_options(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Its content; `-`: what comes on stdin.")],
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="What it is called; absent: the file's name.")
    ] = "",
) -> dict[str, Any]:
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise WrongUse(f"cannot read {file!r}: {error.strerror}") from None
    return {"title": title or file, "content": content.decode(errors="surrogateescape")}


def _read_state_argument(
    to: Annotated[
        str, typer.Argument(metavar="STATE", help="Planning, Executing, Reviewing, Cancelled or Error.")
    ],
) -> dict[str, Any]:
    return {"state": {name.lower(): name for name in get_args(WorkState)}.get(to.lower(), to)}


TERMINAL_OPTIONS = {
    ListWorkSessions: TerminalOptions(_read_list_options, _follow_rows),
    ShowTimeline: TerminalOptions(_read_live_option, _follow_timeline),
    FormTeam: TerminalOptions(_read_seat_options),
    ChangeState: TerminalOptions(_read_state_argument),
    AddArtifact: TerminalOptions(_read_artifact_options),
}


def artifact(
    context: typer.Context,
    work: Annotated[
        str, typer.Argument(metavar="WS", help="A work session's id, the beginning of one, or `last`.")
    ],
    name: Annotated[str, typer.Argument(metavar="ARTIFACT", help="Its title, or the beginning of its hash.")],
) -> None:
    """Print the content of an artifact of a work session.

    \b
    Examples:
      folkmoot work artifact last "The parser" | git apply
    """
    content = run_async(_read_artifact_content(get_global_options(context), work, name))
    if sys.stdout.isatty():  # which would obey it
        write(content.decode(errors="replace"))
    else:
        sys.stdout.buffer.write(content)


async def _read_artifact_content(call: GlobalOptions, work: str, name: str) -> bytes:
    async with open_readonly_project(call.folder) as project:
        id = (await project.host.find_work(work)).id
        record = await project.work_sessions.look_up(id)
        for each in record.artifacts if record else ():
            if name and (each.title == name or each.artifact.startswith(name)):
                return await project.journal.artifact(each.artifact)
    raise WrongUse(f"{id} has no artifact {name!r}; `folkmoot work show {id}` lists them")


def check_known_value(what: str, given: str, known: Sequence[str]) -> None:
    """Raises `WrongUse` for what there is not; empty means any."""
    if given and given not in known:
        raise NotFound(
            f"there is no {what} {given!r}; there are {', '.join(known)}",
            code=f"{what.replace(' ', '_')}_not_found",
        )


def _cells(row: WorkRow) -> tuple[Cell, ...]:
    state = "paused" if row.paused else row.state or ""
    status = (row.status, _STYLES[row.status])
    return row.id[:_ID], status, state, format_one_line(row.title, 60), row.category, row.subtitle


def _timeline_cells(entry: TimelineEntry) -> tuple[str, str, str]:
    return format_local_time(entry.at), entry.kind, entry.text


def _run_until_interrupted(work: Coroutine[Any, Any, None]) -> None:
    """Ctrl-C is how a live view ends; nothing is wrong then."""
    with suppress(KeyboardInterrupt):
        run_async(work)


COMMANDS = (*OPERATIONS, artifact)
