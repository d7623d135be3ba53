"""Costs: what models have cost, by agent, model and day; and what agents may spend."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from folkmoot.domain.duration import moment
from folkmoot.domain.run_row import SpendSum
from folkmoot.engine.admission import whole
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.problems import input_refused
from folkmoot.http.requests import Given
from folkmoot.ports import SpendQuery
from folkmoot.views.costs import By, Cost, Totals, costs, totals


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
    journal, period = asked.desks.journal, SpendQuery(since=since, until=until)
    sums = await journal.spend(replace(period, by=query.by))
    whole_sum = await journal.spend(period) or [SpendSum("")]
    budgets = [BudgetRow(agent.id, whole(agent.budget)) for agent in asked.moot.graph.agents.values()]
    return Costs(query.by, costs(sums, query.by), totals(whole_sum[0]), budgets)


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
