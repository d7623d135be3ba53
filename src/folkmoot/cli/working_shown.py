"""How `folkmoot work` reads its arguments, and shows what there is and what has changed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
import typer
from msgspec.structs import replace

from folkmoot.cli import working
from folkmoot.cli.amounts import moment
from folkmoot.cli.call import finished
from folkmoot.cli.commands import TerminalOptions
from folkmoot.cli.output import STYLES, Cell, console, say, write, write_json, write_table
from folkmoot.cli.shown import in_one_line
from folkmoot.coordination.work_sessions import known_category
from folkmoot.coordination.work_teams import Seat
from folkmoot.domain.agent import MemberRole
from folkmoot.domain.entry import Role
from folkmoot.domain.work_session import Action, Activity, Roster, WorkState
from folkmoot.errors import NotFound, WrongUse
from folkmoot.operations.operation import Operation
from folkmoot.operations.work_sessions import (
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
from folkmoot.views.timeline import TimelineEntry
from folkmoot.views.work_sessions import WorkRow

_HEAD = ("id", "status", "state", "title", "category", "who and when")
_ID = 11
"""Characters of an id in a list: enough to name one, and room for what it is about."""
_STYLES = {"ACTIVE": STYLES["running"], "QUIET": STYLES["completed"], "ARCHIVED": STYLES["pruned"]}


@dataclass(frozen=True)
class Wanted:
    """Which rows are shown; empty fields do not restrict."""

    status: str = ""
    category: str = ""
    role: str = ""

    @classmethod
    def read(cls, status: str, category: str, role: str) -> Wanted:
        """Raises `WrongUse` for what there is not."""
        one_of("status", status.upper(), get_args(Activity))
        one_of("role", role, get_args(Role))
        return cls(status.upper(), known_category(category) if category else "", role)

    def fits(self, row: WorkRow) -> bool:
        return (
            self.status in ("", row.status)
            and self.category in ("", row.category)
            and (not self.role or self.role in row.roles)
        )


def show_rows(folder: Path, wanted: Wanted, *, live: bool, as_json: bool) -> None:
    if live:
        _until_interrupted(lambda: _show_live(folder, wanted, as_json=as_json))
        return
    rows = [row for row in finished(working.all_rows(folder)) if wanted.fits(row)]
    if as_json:
        write_json(rows)
    elif not rows:
        say(
            "there is no such work session" if wanted != Wanted() else f"nothing has happened in {folder} yet"
        )
    else:
        write_table(_HEAD, map(_cells, rows))


async def _show_live(folder: Path, wanted: Wanted, *, as_json: bool) -> None:
    """On a terminal the list stays in place; elsewhere each row that changed is a line."""
    told: dict[str, WorkRow] = {}
    async for rows in working.follow_rows(folder):
        fitting = [row for row in rows if wanted.fits(row)]
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


def show_timeline(folder: Path, work: str, *, live: bool, as_json: bool) -> None:
    if live:
        _until_interrupted(lambda: _tell_live(folder, work, as_json=as_json))
        return
    entries = finished(working.read_timeline(folder, work))
    if as_json:
        write_json(entries)
    else:
        write_table(("time", "kind", "what"), [_line(entry) for entry in entries])


async def _tell_live(folder: Path, work: str, *, as_json: bool) -> None:
    async for entry in working.follow_timeline(folder, work):
        write_json(entry) if as_json else write("  ".join(_line(entry)))
        sys.stdout.flush()  # a pipe would keep it until it has more


_CHANGES: Mapping[type, Callable[[Any, Any], str]] = {
    FormTeam: lambda _, output: f"has its team: {in_words(output.team)}",
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
    """What has changed."""
    if isinstance(operation, OpenWorkSession):
        write(output.id)
        return
    id = output["id"] if isinstance(output, dict) else output.id
    change = _CHANGES.get(type(operation), lambda _, output: f"is {output.state}")
    say(f"work session {id} {change(operation, output)}")
    if isinstance(operation, ResumeWorkSession):
        for run in output.runs:
            say(f"  to go on with what waited: folkmoot runs resume {run}")


def write_document(shown: Mapping[str, Any]) -> None:
    for key, value in shown.items():
        match value:
            case [{}, *_]:
                write(f"{key}:")
                for each in value:
                    write(f"  {_in_words(each)}")
            case None | "" | False | [] | ():
                pass
            case _:
                write(f"{key}: {_in_words(value)}")


def in_words(team: Roster | None) -> str:
    return ", ".join(f"{member.agent} ({member.role})" for member in team.members) if team else ""


def _in_words(value: object) -> str:
    match value:
        case {"members": _}:
            return in_words(msgspec.convert(value, Roster))
        case {"at": at, "text": text}:  # a line of the timeline
            return f"{moment(at)}  {text}"
        case dict():
            return "  ".join(str(each) for each in value.values() if each not in ("", (), []))
        case list() | tuple():
            return ", ".join(map(str, value))
    return str(value)


def _seats(
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
    wanted = [_seat(written) for written in seats]
    for written in may or ():
        name, words = _pair("--may", written)
        for word in words:
            one_of("action", word, get_args(Action))
        wanted = _given(wanted, name, {"actions": words})
    for written in tools or ():
        name, words = _pair("--tools", written)
        wanted = _given(wanted, name, {"tools": words})
    return {"members": wanted}


def _seat(written: str) -> Seat:
    named, _, agent = written.partition("=")
    role, _, able = named.partition(":")
    one_of("role", role, get_args(MemberRole))
    capabilities = tuple(word.strip() for word in able.split(",") if word.strip())
    return msgspec.convert(
        {"role": role or None, "capabilities": capabilities, "agent": agent.removesuffix(".ai")}, Seat
    )


def _pair(option: str, written: str) -> tuple[str, tuple[str, ...]]:
    name, equals, words = written.partition("=")
    if not name or not equals:
        raise WrongUse(f"{option} takes SEAT=WORD,WORD, such as worker=execute,vote, not {written!r}")
    return name, tuple(word for word in words.split(",") if word)


def _given(seats: Sequence[Seat], name: str, limits: Mapping[str, Any]) -> list[Seat]:
    if not any(name in (seat.role, seat.agent) for seat in seats):
        raise WrongUse(
            f"no seat is {name!r}; the seats are {', '.join(seat.agent or str(seat) for seat in seats)}"
        )
    return [
        replace(seat, policy=replace(seat.policy, **limits)) if name in (seat.role, seat.agent) else seat
        for seat in seats
    ]


def _file(
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


def _state(
    to: Annotated[
        str, typer.Argument(metavar="STATE", help="Planning, Executing, Reviewing, Cancelled or Error.")
    ],
) -> dict[str, Any]:
    return {"state": {name.lower(): name for name in get_args(WorkState)}.get(to.lower(), to)}


TERMINAL_OPTIONS = {
    FormTeam: TerminalOptions(_seats),
    ChangeState: TerminalOptions(_state),
    AddArtifact: TerminalOptions(_file),
}


def write_content(content: bytes) -> None:
    """As it is, unless a terminal would obey it."""
    if sys.stdout.isatty():
        write(content.decode(errors="replace"))
    else:
        sys.stdout.buffer.write(content)


def one_of(what: str, given: str, known: Sequence[str]) -> None:
    """Raises `WrongUse` for what there is not; empty means any."""
    if given and given not in known:
        raise NotFound(
            f"there is no {what} {given!r}; there are {', '.join(known)}",
            code=f"{what.replace(' ', '_')}_not_found",
        )


def _cells(row: WorkRow) -> tuple[Cell, ...]:
    state = "paused" if row.paused else row.state or ""
    status = (row.status, _STYLES[row.status])
    return row.id[:_ID], status, state, in_one_line(row.title, 60), row.category, row.subtitle


def _line(entry: TimelineEntry) -> tuple[str, str, str]:
    return moment(entry.at), entry.kind, entry.text


def _until_interrupted(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Ctrl-C is how a live view ends; nothing is wrong then."""
    with suppress(KeyboardInterrupt):
        finished(work())
