"""How the commands reach the plans of a project, and read one that somebody wrote down."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from rich.console import Console

from folkmoot.cli.asking import this_user
from folkmoot.cli.call import Call, read_text
from folkmoot.cli.moot import changing, reading, redrawn
from folkmoot.cli.output import Cell
from folkmoot.cli.records import has_run
from folkmoot.cli.shown import in_one_line
from folkmoot.coordination.author import RUNTIME, Author
from folkmoot.coordination.plans.brief import brief
from folkmoot.coordination.plans.desk import Plans
from folkmoot.coordination.plans.record import PLAN
from folkmoot.coordination.plans.wish import PlanWish
from folkmoot.domain.plan import Plan
from folkmoot.domain.text import storable
from folkmoot.errors import WrongUse
from folkmoot.loader.compose import compose
from folkmoot.loader.findings import Findings, Location
from folkmoot.loader.nodes import data
from folkmoot.ports import Clock

Change = Callable[[Plans, str, Author], Awaitable[Plan]]


async def all_plans(folder: Path) -> list[Plan]:
    if not has_run(folder):
        return []
    async with reading(folder) as moot:
        return list((await moot.plans.all()).values())


async def one_plan(folder: Path, name: str) -> Plan:
    async with reading(folder) as moot:
        plans = await moot.plans.all()
        return plans[PLAN.resolve(plans, name)]


async def watched(folder: Path, name: str, console: Console) -> Plan:
    async with reading(folder) as moot:
        return await follow(moot.plans, name, console, moot.clock)


async def changed(call: Call, name: str, by: str, change: Change) -> Plan:
    """What becomes of the plan `name` by a change of a person; empty: it is a new one."""
    async with changing(call) as moot:
        if by and by in (RUNTIME, *(agent.id for agent in moot.graph.agents.values())):
            raise WrongUse(f"{by!r} is an agent, and speaks through its own calls; use another name")
        id = PLAN.resolve(await moot.plans.all(), name) if name else ""
        return await change(moot.plans, id, Author(storable(by or this_user())))


async def drafted(plans: Plans, author: Author, wish: PlanWish) -> Plan:
    return await plans.draft(author, wish, chance=secrets.token_hex(16))


async def follow(plans: Plans, name: str, console: Console, clock: Clock) -> Plan:
    """Draw a plan again and again until it is done or sent back."""
    id = PLAN.resolve(await plans.all(), name)

    async def look() -> tuple[Plan, str, bool]:
        plan = await plans.get(id)
        return plan, brief(plan), plan.status in ("done", "rejected")

    return await redrawn(console, look, clock)


def row(plan: Plan) -> tuple[Cell, ...]:
    """Its line in the list."""
    over = sum(step.is_over for step in plan.steps)
    return (plan.id, plan.status, f"{over}/{len(plan.steps)}", plan.author, in_one_line(plan.title, 60))


def read_plan(file: Path) -> PlanWish:
    """From YAML or JSON. Raises with the place of what is wrong."""
    text = read_text(file, "--file")
    findings = Findings()
    node = compose(text, Location(str(file)), findings)
    findings.settle()
    try:
        return msgspec.convert(data(node) if node else None, PlanWish)
    except msgspec.ValidationError as error:
        raise WrongUse(f"{file} is no plan: {error}; `folkmoot plans draft --help` shows one") from None
