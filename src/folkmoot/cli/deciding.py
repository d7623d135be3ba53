"""How the commands reach the decisions of a project, and read what people write about one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.live import Live
from rich.text import Text

from folkmoot.app import load_project
from folkmoot.cli.amounts import moment
from folkmoot.cli.call import Call
from folkmoot.cli.output import Cell
from folkmoot.cli.records import has_run, opened
from folkmoot.cli.shown import in_one_line, shown
from folkmoot.coordination.author import RUNTIME, Author
from folkmoot.coordination.decisions.brief import brief
from folkmoot.coordination.decisions.desk import Decisions
from folkmoot.domain.agent import Graph
from folkmoot.domain.decision import Decision, Option, Voter
from folkmoot.domain.duration import EXAMPLES, seconds
from folkmoot.domain.tally import tally
from folkmoot.domain.text import storable
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.workshop import open_journal
from folkmoot.errors import WrongUse
from folkmoot.ports import Clock

LOOK = 0.5
"""Seconds from one look at a decision that is followed to the next."""
Change = Callable[[Decisions, str, Author], Awaitable[Decision]]
Risk = Literal["low", "medium", "high"]
_RISKS: tuple[Risk, ...] = ("low", "medium", "high")


async def all_decisions(folder: Path) -> list[Decision]:
    if not has_run(folder):
        return []
    async with _reading(folder) as decisions:
        return await decisions.all()


async def one_decision(folder: Path, name: str) -> Decision:
    async with _reading(folder) as decisions:
        return await named(decisions, name)


async def watched(folder: Path, name: str, console: Console) -> Decision:
    async with _reading(folder) as decisions:
        return await follow(decisions, name, console, SystemClock())


async def changed(call: Call, name: str, by: str, change: Change) -> Decision:
    """What becomes of the decision `name` by the change of a person; empty: it is a new one.

    The project's files are read too: they say who is an agent, and who leads.
    """
    graph = load_project(call.folder, overrides=call.overrides).graph
    journal = open_journal(call.folder)
    try:
        decisions = Decisions(journal, SystemClock(), graph)
        id = (await named(decisions, name)).id if name else ""
        return await change(decisions, id, _person(by))
    finally:
        await journal.close()


async def named(decisions: Decisions, name: str) -> Decision:
    """By its id, the beginning of one that fits no other, or `last`."""
    known = await decisions.all()
    if name == "last" and known:
        return known[-1]
    fitting = [each for each in known if name and each.id.startswith((name, f"decision_{name}"))]
    if len(fitting) == 1:
        return fitting[0]
    many = f"{len(fitting)} decisions begin with {name!r}"
    said = many if fitting else f"there is no decision {name!r}"
    raise WrongUse(f"{said}; `folkmoot decisions list` shows those that are")


async def follow(decisions: Decisions, name: str, console: Console, clock: Clock) -> Decision:
    """Draw a decision again and again until it is made."""
    id = (await named(decisions, name)).id
    with Live(console=console, auto_refresh=False) as live:
        while True:
            decision = await decisions.get(id)
            live.update(Text(shown(brief(decision, clock.now()))), refresh=True)
            if decision.status == "committed":
                return decision
            await clock.sleep(LOOK)


def row(decision: Decision) -> tuple[Cell, ...]:
    """Its line in the list."""
    counts = tally(decision, decision.standing_votes).counts
    ended = decision.status == "committed"
    return (
        decision.id,
        decision.status,
        moment(decision.until) if decision.until and not ended else "",
        str(decision.rule),
        ", ".join(f"{option} {count}" for option, count in counts.items()),
        in_one_line(decision.topic, 60),
    )


def read_options(written: Sequence[str]) -> tuple[Option, ...]:
    parts = (each.partition("=") for each in map(storable, written))
    return tuple(Option(id.strip(), text.strip()) for id, _, text in parts)


def read_voters(written: Sequence[str]) -> tuple[Voter, ...]:
    return tuple(map(_voter, map(storable, written)))


def read_window(written: str) -> float:
    read = seconds(written)
    if read is None:
        raise WrongUse(f"--window takes a duration such as {EXAMPLES}, not {written!r}")
    return read


def read_risk(written: str) -> Risk:
    if written not in _RISKS:
        raise WrongUse(f"--risk is {', '.join(_RISKS)}, not {written!r}")
    return _RISKS[_RISKS.index(written)]


def _person(name: str) -> Author:
    if name in ("", RUNTIME):
        raise WrongUse(f"--as takes the name of a person, not {name!r}")
    return Author(storable(name))


def _voter(written: str) -> Voter:
    name, equals, weight = written.partition("=")
    if not equals:
        return Voter(name)
    if not (weight.isascii() and weight.isdigit() and len(weight) < 10):
        raise WrongUse(f"--voter takes NAME or NAME=WEIGHT with a whole number, not {written!r}")
    return Voter(name, int(weight))


@asynccontextmanager
async def _reading(folder: Path) -> AsyncIterator[Decisions]:
    """Whatever state the project's files are in."""
    async with opened(folder) as journal:
        yield Decisions(journal, SystemClock(), Graph({}))
