"""What was spent: by day, agent and model, and what is left of the budgets of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.domain.budget import Budget
from folkmoot.domain.run_row import ENDED, OPEN_STATUSES, RunSummary, SpendSum
from folkmoot.http.pages.rendering import read_moment, render_page
from folkmoot.http.pages.runs import RunCache
from folkmoot.http.state import get_server_state
from folkmoot.ports import RunQuery, SpendQuery
from folkmoot.views.costs import By, Limit, limits, narrowest, shares
from folkmoot.views.run_nodes import Reserved

SHOWN = 50
"""Runs with their budgets."""
_TABLES: tuple[By, ...] = ("agent", "model", "day")


async def costs(request: Request) -> Response:
    moot = get_server_state(request).moot
    query, journal = request.query_params, moot.moot.journal
    wanted = {"work_session": query.get("work_session", ""), "run": query.get("run", "")}
    wanted |= {name: read_moment(request, name)[:10] for name in ("since", "until")}  # days, the last one too
    named: dict[str, Any] = {"work_session": wanted["work_session"]}
    if wanted["run"]:
        named["runs"] = (wanted["run"],)
    until = f"{wanted['until']}U" if wanted["until"] else ""
    period = SpendQuery(**named, since=wanted["since"], until=until)
    if wanted["since"] or until:
        named["runs"] = tuple(each.name for each in await journal.spend(replace(period, by="run")))
    runs = RunQuery(**named, statuses=(*OPEN_STATUSES, *ENDED), limit=SHOWN)
    return render_page(
        request,
        "costs.html",
        wanted=wanted,
        chosen=query.get("since", ""),
        total=next(iter(await journal.spend(period)), SpendSum("")),
        tables={by: shares(await journal.spend(replace(period, by=by)), by) for by in _TABLES},
        count=await journal.count_runs(runs),
        runs=await _run_costs(request, await journal.runs(runs)),
    )


async def _run_costs(
    request: Request, runs: Sequence[RunSummary]
) -> list[tuple[RunSummary, SpendSum, list[Limit]]]:
    """By the budgets of the project and of each run's agent, as this server was started with them."""
    moot, found = get_server_state(request).moot, []
    spent = await moot.moot.journal.spend(SpendQuery(by="run", runs=tuple(run.run for run in runs)))
    amounts = {each.name: each for each in spent}
    for run in runs:
        agent, amount = moot.graph.agents.get(run.agent), amounts.get(run.run, SpendSum(run.run))
        held = (
            (await get_server_state(request).one(RunCache).steps(run.run)).held if run.is_open else Reserved()
        )
        budget = narrowest(moot.graph.settings.budget, agent.budget if agent else Budget())
        found.append((run, amount, limits(amount, held, budget)))
    return found


ROUTES = (Route("/costs", costs),)
