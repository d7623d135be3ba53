"""Runs: all of them, one of them."""

from __future__ import annotations

import msgspec

from folkmoot.http.operation import Asked, Operation
from folkmoot.views.runs import RunRow


class RunsQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    status: str = ""
    agent: str = ""
    limit: int = 100


async def list_runs(asked: Asked) -> list[RunRow]:
    rows = await asked.moot.runs()
    query: RunsQuery = asked.query
    fitting = [
        row
        for row in rows
        if query.status in ("", row.status) and query.agent in ("", row.agent, row.agent.removesuffix(".ai"))
    ]
    return fitting[: query.limit]


OPERATIONS = (
    Operation(
        method="GET",
        path="/runs",
        summary="All runs, the newest first",
        handle=list_runs,
        query=RunsQuery,
        answer=list[RunRow],
    ),
)
