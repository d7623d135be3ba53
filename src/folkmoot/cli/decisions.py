"""Decisions at the terminal: read as people write them, shown, and followed until they are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console

from folkmoot.cli.call import GlobalOptions, run_async
from folkmoot.cli.commands import TerminalOptions
from folkmoot.cli.output import (
    Cell,
    console,
    format_local_time,
    format_one_line,
    write,
    write_json,
    write_stderr,
    write_table,
)
from folkmoot.cli.project import open_readonly_project, redraw
from folkmoot.coordination.decision_service import Decisions, brief
from folkmoot.domain.decision import Decision, Option, Voter, tally
from folkmoot.domain.duration import EXAMPLES, seconds
from folkmoot.domain.text import storable
from folkmoot.engine.clock import SystemClock
from folkmoot.errors import BAD_VALUE, WrongUse
from folkmoot.operations.actor import by_account
from folkmoot.operations.decisions import OPERATIONS, ProposeDecision, ShowDecision
from folkmoot.operations.operation import Operation
from folkmoot.ports import Clock
from folkmoot.views.decisions import record

_EMPTY = "no decision is recorded; `folkmoot decisions propose --help` says how to put something to the vote"


def present(operation: Operation[Any], output: Any) -> None:
    if isinstance(output, Decision):
        write(brief(output, SystemClock().now()))
    elif output:
        write_table(("id", "status", "until", "rule", "votes", "topic"), map(_row, output))
    else:
        write_stderr(_EMPTY)


def _read_show_options(
    adr: Annotated[bool, typer.Option("--adr", help="Print the record as Markdown.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Stay, and follow it until it is decided.")] = False,
) -> dict[str, Any]:
    return {}


async def _find_decision(call: GlobalOptions, wanted: ShowDecision, *, live: bool) -> Decision:
    async with open_readonly_project(call.folder) as project:
        decision = await wanted.run(project, by_account("terminal"))
        return (
            await follow_decision(project.decisions, decision.id, console(), project.clock)
            if live
            else decision
        )


def _show_decision(
    call: GlobalOptions, wanted: ShowDecision, as_json: bool, *, adr: bool, live: bool
) -> None:
    decision = run_async(_find_decision(call, wanted, live=live))
    if adr:
        write(record(decision).rstrip("\n"))
    elif as_json:
        write_json(wanted.document(decision))


def _read_proposal_options(
    option: Annotated[list[str], typer.Option(metavar="ID=TEXT", help="What can be chosen; twice at least.")],
    voter: Annotated[
        list[str], typer.Option(metavar="NAME[=WEIGHT]", help="An agent's id or a person; may be repeated.")
    ],
    window: Annotated[str, typer.Option(help="How long it is voted on, such as 30s, 1d or off.")] = "2m",
) -> dict[str, Any]:
    lasts = seconds(window)
    if lasts is None:
        raise WrongUse(f"--window takes a duration such as {EXAMPLES}, not {window!r}", code=BAD_VALUE)
    return {"options": parse_decision_options(option), "participants": parse_voters(voter), "window": lasts}


COMMANDS = OPERATIONS
TERMINAL_OPTIONS = {
    ShowDecision: TerminalOptions(_read_show_options, _show_decision, when=("adr", "live")),
    ProposeDecision: TerminalOptions(_read_proposal_options),
}


async def follow_decision(decisions: Decisions, id: str, console: Console, clock: Clock) -> Decision:
    """Draw a decision again and again until it is made."""

    async def look() -> tuple[Decision, str, bool]:
        decision = await decisions.get(id)
        return decision, brief(decision, clock.now()), decision.status == "committed"

    return await redraw(console, look, clock)


def parse_decision_options(written: Sequence[str]) -> tuple[Option, ...]:
    parts = (each.partition("=") for each in map(storable, written))
    return tuple(Option(id.strip(), text.strip()) for id, _, text in parts)


def parse_voters(written: Sequence[str]) -> tuple[Voter, ...]:
    return tuple(map(_parse_voter, map(storable, written)))


def _row(decision: Decision) -> tuple[Cell, ...]:
    """Its line in the list."""
    counts = tally(decision, decision.standing_votes).counts
    ended = decision.status == "committed"
    return (
        decision.id,
        decision.status,
        format_local_time(decision.until) if decision.until and not ended else "",
        str(decision.rule),
        ", ".join(f"{option} {count}" for option, count in counts.items()),
        format_one_line(decision.topic, 60),
    )


def _parse_voter(written: str) -> Voter:
    name, equals, weight = written.partition("=")
    if not equals:
        return Voter(name)
    if not (weight.isascii() and weight.isdigit() and len(weight) < 10):
        raise WrongUse(
            f"--voter takes NAME or NAME=WEIGHT with a whole number, not {written!r}", code=BAD_VALUE
        )
    return Voter(name, int(weight))
