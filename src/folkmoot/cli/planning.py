"""How the commands reach the plans of a project, and read one that somebody wrote down."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from rich.console import Console
from rich.live import Live
from rich.text import Text

from folkmoot.app import load_project
from folkmoot.cli.asking import this_user
from folkmoot.cli.call import Call
from folkmoot.cli.output import Cell
from folkmoot.cli.records import has_run, opened
from folkmoot.cli.shown import in_one_line, shown
from folkmoot.coordination.author import RUNTIME, Author
from folkmoot.coordination.plans.brief import brief
from folkmoot.coordination.plans.desk import Plans
from folkmoot.coordination.plans.wish import PlanWish
from folkmoot.domain.agent import Graph
from folkmoot.domain.plan import Plan
from folkmoot.domain.text import storable
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.workshop import open_journal
from folkmoot.errors import WrongUse
from folkmoot.loader.compose import compose
from folkmoot.loader.findings import Findings, Place
from folkmoot.loader.nodes import data
from folkmoot.ports import Clock

LOOK = 0.5
"""Seconds from one look at a plan that is followed to the next."""
Change = Callable[[Plans, str, Author], Awaitable[Plan]]


async def all_plans(folder: Path) -> list[Plan]:
    if not has_run(folder):
        return []
    async with _reading(folder) as plans:
        return list((await plans.all()).values())


async def one_plan(folder: Path, name: str) -> Plan:
    async with _reading(folder) as plans:
        return await named(plans, name)


async def watched(folder: Path, name: str, console: Console) -> Plan:
    async with _reading(folder) as plans:
        return await follow(plans, name, console, SystemClock())


async def changed(call: Call, name: str, by: str, change: Change) -> Plan:
    """What becomes of the plan `name` by a change of a person; empty: it is a new one.

    The project's files are read too: they say who could own a step.
    """
    graph = load_project(call.folder, overrides=call.overrides).graph
    author = Author(storable(by or this_user()))
    if by and by in (RUNTIME, *(agent.id for agent in graph.agents.values())):
        raise WrongUse(f"{by!r} is an agent, and speaks through its own calls; use another name")
    journal = open_journal(call.folder)
    try:
        plans = Plans(journal, SystemClock(), graph)
        id = (await named(plans, name)).id if name else ""
        return await change(plans, id, author)
    finally:
        await journal.close()


async def drafted(plans: Plans, author: Author, wish: PlanWish) -> Plan:
    return await plans.draft(author, wish, chance=secrets.token_hex(16))


async def named(plans: Plans, name: str) -> Plan:
    """By its id, the beginning of one that fits no other, or `last`."""
    known = list((await plans.all()).values())
    if name == "last" and known:
        return known[-1]
    fitting = [each for each in known if name and each.id.startswith((name, f"plan_{name}"))]
    if len(fitting) == 1:
        return fitting[0]
    many = f"{len(fitting)} plans begin with {name!r}"
    said = many if fitting else f"there is no plan {name!r}"
    raise WrongUse(f"{said}; `folkmoot plans list` shows those that are")


async def follow(plans: Plans, name: str, console: Console, clock: Clock) -> Plan:
    """Draw a plan again and again until it is done or sent back."""
    id = (await named(plans, name)).id
    with Live(console=console, auto_refresh=False) as live:
        while True:
            plan = await plans.get(id)
            live.update(Text(shown(brief(plan))), refresh=True)
            if plan.status in ("done", "rejected"):
                return plan
            await clock.sleep(LOOK)


def row(plan: Plan) -> tuple[Cell, ...]:
    """Its line in the list."""
    over = sum(step.is_over for step in plan.steps)
    return (plan.id, plan.status, f"{over}/{len(plan.steps)}", plan.author, in_one_line(plan.title, 60))


def read_plan(file: Path) -> PlanWish:
    """From YAML or JSON. Raises with the place of what is wrong."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"--file {str(file)!r} cannot be read: {error}") from None
    findings = Findings()
    node = compose(text, Place(str(file)), findings)
    findings.settle()
    try:
        return msgspec.convert(data(node) if node else None, PlanWish)
    except msgspec.ValidationError as error:
        raise WrongUse(f"{file} is no plan: {error}; `folkmoot plans draft --help` shows one") from None


@asynccontextmanager
async def _reading(folder: Path) -> AsyncIterator[Plans]:
    """Whatever state the project's files are in."""
    async with opened(folder) as journal:
        yield Plans(journal, SystemClock(), Graph({}))
