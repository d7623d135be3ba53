"""How the commands reach the decisions of a project, and read what people write about one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal

from rich.console import Console

from folkmoot.cli.amounts import moment
from folkmoot.cli.call import Call
from folkmoot.cli.moot import changing, reading, redrawn
from folkmoot.cli.output import Cell
from folkmoot.cli.records import has_run
from folkmoot.cli.shown import in_one_line
from folkmoot.coordination.author import RUNTIME, Author
from folkmoot.coordination.decisions.brief import brief
from folkmoot.coordination.decisions.desk import Decisions
from folkmoot.coordination.decisions.record import DECISION
from folkmoot.domain.decision import Decision, Option, Voter
from folkmoot.domain.duration import EXAMPLES, seconds
from folkmoot.domain.tally import tally
from folkmoot.domain.text import storable
from folkmoot.errors import WrongUse
from folkmoot.ports import Clock

Change = Callable[[Decisions, str, Author], Awaitable[Decision]]
Risk = Literal["low", "medium", "high"]
_RISKS: tuple[Risk, ...] = ("low", "medium", "high")


async def all_decisions(folder: Path) -> list[Decision]:
    if not has_run(folder):
        return []
    async with reading(folder) as moot:
        return await moot.decisions.all()


async def one_decision(folder: Path, name: str) -> Decision:
    async with reading(folder) as moot:
        return await _named(moot.decisions, name)


async def watched(folder: Path, name: str, console: Console) -> Decision:
    async with reading(folder) as moot:
        return await follow(moot.decisions, name, console, moot.clock)


async def changed(call: Call, name: str, by: str, change: Change) -> Decision:
    """What becomes of the decision `name` by the change of a person; empty: it is a new one."""
    async with changing(call) as moot:
        id = (await _named(moot.decisions, name)).id if name else ""
        return await change(moot.decisions, id, _person(by))


async def follow(decisions: Decisions, name: str, console: Console, clock: Clock) -> Decision:
    """Draw a decision again and again until it is made."""
    id = (await _named(decisions, name)).id

    async def look() -> tuple[Decision, str, bool]:
        decision = await decisions.get(id)
        return decision, brief(decision, clock.now()), decision.status == "committed"

    return await redrawn(console, look, clock)


async def _named(decisions: Decisions, name: str) -> Decision:
    known = {each.id: each for each in await decisions.all()}
    return known[DECISION.resolve(known, name)]


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
