"""What was spent: by day, agent and model, and what is left of the budgets of runs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.app import Folkmoot
from folkmoot.domain.budget import Budget
from folkmoot.http.house import house_of
from folkmoot.http.pages.events import asked_moment
from folkmoot.http.pages.kept import kept_of
from folkmoot.http.pages.rendering import page
from folkmoot.views.costs import By, Limit, RunCost, Wanted, limits

SPANS = {"": "all time", "0d": "today", "6d": "7 days", "29d": "30 days"}
"""From when, in words."""
SHOWN = 50
"""Runs with their budgets."""
_TABLES: tuple[By, ...] = ("agent", "model", "day")


async def costs(request: Request) -> Response:
    moot = house_of(request).moot
    query = request.query_params
    wanted = Wanted(
        work_session=query.get("work_session", ""),
        run=query.get("run", ""),
        since=asked_moment(query.get("since", ""))[:10],
        until=asked_moment(query.get("until", ""))[:10],
    )
    book = await kept_of(request).costs()
    runs = book.runs(wanted)
    return page(
        request,
        "costs.html",
        screen="costs",
        title="Costs",
        wanted=wanted,
        chosen=query.get("since", ""),
        spans=SPANS,
        total=book.total(wanted),
        tables={by: book.shares(wanted, by) for by in _TABLES},
        count=len(runs),
        runs=[(run, _limits(moot, run)) for run in runs[:SHOWN]],
    )


def _limits(moot: Folkmoot, run: RunCost) -> list[Limit]:
    """By the budgets of the project and of the run's agent, as this server was started with them."""
    agent = moot.graph.agents.get(run.agent)
    return limits(run, moot.graph.settings.budget, agent.budget if agent else Budget())


ROUTES = (Route("/costs", costs),)
