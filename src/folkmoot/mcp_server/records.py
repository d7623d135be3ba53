"""The runs of the agents that a client may call, and their reports, as resources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.report import Report
from folkmoot.domain.run_row import RunRow
from folkmoot.mcp_server.asking import Context
from folkmoot.mcp_server.pages import page
from folkmoot.ports import RunQuery

RUNS = "folkmoot://runs"
NEWEST = 100
"""Runs in the one document that lists them."""
_RUN = re.compile(r"folkmoot://runs/([^/]+)(/report)?")
_JSON = "application/json"
_MIME = {"json": _JSON, "markdown": "text/markdown", "text": "text/plain"}
_TEMPLATES = [
    ResourceTemplate(
        name="run",
        uri_template=f"{RUNS}/{{id}}",
        description="A run as `folkmoot runs show RUN --json` prints it: how it ended, its report, its cost.",
        mime_type=_JSON,
    ),
    ResourceTemplate(
        name="report", uri_template=f"{RUNS}/{{id}}/report", description="The final report of a run alone."
    ),
]


class Records:
    def __init__(self, moot: Folkmoot, offers: Mapping[str, Agent]) -> None:
        self._moot = moot
        self._files = {agent.file for agent in offers.values()}

    async def listed(self, context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """`resources/list`: the list of runs, then each run and its report, the newest first."""
        everything = [_INDEX, *(resource for row in await self._rows() for resource in _resources(row))]
        resources, cursor = page(everything, params, lambda resource: resource.uri)
        return ListResourcesResult(resources=resources, next_cursor=cursor)

    async def templates(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """`resources/templates/list`."""
        return ListResourceTemplatesResult(resource_templates=_TEMPLATES)

    async def read(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """`resources/read`."""
        mime, text = await self._content(params.uri)
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, mime_type=mime, text=text)])

    async def _content(self, uri: str) -> tuple[str, str]:
        rows = await self._rows()
        if uri == RUNS:
            return _JSON, _encoded(rows[:NEWEST])
        named = _RUN.fullmatch(uri)
        if named and any(row.run_id == named[1] for row in rows):
            result = await self._moot.result(named[1])
            if not named[2]:
                return _JSON, _encoded(result.to_json())
            if report := result.final_report:
                return _of_report(report)
        raise MCPError(INVALID_PARAMS, f"there is no resource {uri!r}", {"uri": uri})

    async def _rows(self) -> list[RunRow]:
        return await self._moot.runs(RunQuery(agents=tuple(self._files)))


_INDEX = Resource(
    name="runs", uri=RUNS, description=f"The newest {NEWEST} runs, the newest first.", mime_type=_JSON
)


def _resources(row: RunRow) -> Iterator[Resource]:
    said = f"{row.status}, {row.agent}, {row.started_at}"
    yield Resource(name=row.run_id, uri=f"{RUNS}/{row.run_id}", description=said, mime_type=_JSON)
    if row.status == "completed":
        uri = f"{RUNS}/{row.run_id}/report"
        yield Resource(name=f"{row.run_id}/report", uri=uri, description=f"The final report: {said}")


def _of_report(report: Report) -> tuple[str, str]:
    return _MIME[report.format], report.content


def _encoded(document: object) -> str:
    return msgspec.json.encode(document).decode()
