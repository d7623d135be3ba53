"""What was spent: by day, agent and model, and what is left of the budgets of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.app import Folkmoot
from folkmoot.domain.budget import Budget
from folkmoot.domain.run_row import ENDED, OPEN_STATUSES, RunSummary
from folkmoot.domain.spend import SpendSum
from folkmoot.http.pages.rendering import moment_in, page
from folkmoot.http.state import house_of
from folkmoot.ports import RunQuery, SpendQuery
from folkmoot.views.costs import By, Limit, RunCost, limits, requests_under_way, shares

SHOWN = 50
"""Runs with their budgets."""
_TABLES: tuple[By, ...] = ("agent", "model", "day")


async def costs(request: Request) -> Response:
    moot = house_of(request).moot
    query, journal = request.query_params, moot.moot.journal
    wanted = {"work_session": query.get("work_session", ""), "run": query.get("run", "")}
    wanted |= {name: moment_in(request, name)[:10] for name in ("since", "until")}  # days, the last one too
    named: dict[str, Any] = {"work_session": wanted["work_session"]}
    if wanted["run"]:
        named["runs"] = (wanted["run"],)
    until = f"{wanted['until']}U" if wanted["until"] else ""
    period = SpendQuery(**named, since=wanted["since"], until=until)
    if wanted["since"] or until:
        named["runs"] = tuple(each.name for each in await journal.spend(replace(period, by="run")))
    runs = RunQuery(**named, statuses=(*OPEN_STATUSES, *ENDED), limit=SHOWN)
    return page(
        request,
        "costs.html",
        wanted=wanted,
        chosen=query.get("since", ""),
        total=next(iter(await journal.spend(period)), SpendSum("")),
        tables={by: shares(await journal.spend(replace(period, by=by)), by) for by in _TABLES},
        count=await journal.count_runs(runs),
        runs=[(run, _limits(moot, run)) for run in await _run_costs(moot, await journal.runs(runs))],
    )


async def _run_costs(moot: Folkmoot, runs: Sequence[RunSummary]) -> list[RunCost]:
    journal = moot.moot.journal
    spent = await journal.spend(SpendQuery(by="run", runs=tuple(run.run for run in runs)))
    amounts = {each.name: each for each in spent}
    return [
        RunCost(
            run,
            amounts.get(run.run, SpendSum(run.run)),
            requests_under_way([entry.draft async for entry in moot.events(run.run)]) if run.is_open else (),
        )
        for run in runs
    ]


def _limits(moot: Folkmoot, cost: RunCost) -> list[Limit]:
    """By the budgets of the project and of the run's agent, as this server was started with them."""
    agent = moot.graph.agents.get(cost.run.agent)
    return limits(cost, moot.graph.settings.budget, agent.budget if agent else Budget())


ROUTES = (Route("/costs", costs),)
