"""Costs: what models have cost, by agent, model and day; and what agents may spend."""

from __future__ import annotations

from typing import Any

import msgspec

from folkmoot.domain.moment import moment
from folkmoot.engine.describing import whole
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.problems import input_refused
from folkmoot.http.reading import Given
from folkmoot.views.accounting import Totals
from folkmoot.views.spending import By, Cost


class CostsQuery(Given):
    by: By = "agent"
    """What there is a row for."""
    since: str = ""
    """Not before this day or moment in UTC, or so long ago: `7d`."""
    until: str = ""
    """Before this."""


class BudgetRow(msgspec.Struct):
    id: str
    """The agent."""
    budget: dict[str, Any]
    """Of one invocation and all it starts; what is null is not limited."""


class Costs(msgspec.Struct):
    by: By
    rows: list[Cost]
    totals: Totals
    budgets: list[BudgetRow]


async def show_costs(asked: Asked) -> Costs:
    query: CostsQuery = asked.query
    now = asked.desks.clock.now()
    with input_refused():
        since, until = moment(query.since, now), moment(query.until, now)
    spending = (await asked.house.folds.now()).spending
    budgets = [BudgetRow(agent.id, whole(agent.budget)) for agent in asked.moot.graph.agents.values()]
    return Costs(query.by, spending.costs(query.by, since, until), spending.totals(since, until), budgets)


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/costs",
        summary="What models have cost, and what agents may spend",
        handle=show_costs,
        query=CostsQuery,
        answer=Costs,
    ),
)
