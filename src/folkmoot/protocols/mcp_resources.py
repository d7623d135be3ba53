"""The runs of the agents that an MCP client may call, and their reports, as resources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import mcp_types as types
import msgspec
from mcp.shared.exceptions import MCPError

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.run_row import RunRow
from folkmoot.ports import RunQuery
from folkmoot.protocols.mcp_elicitation import Context
from folkmoot.protocols.runs import MEDIA_TYPES, page_after

T = TypeVar("T")
RUNS = "folkmoot://runs"
NEWEST = 100
"""Runs in the one document that lists them."""
PAGE = 50
_RUN = re.compile(r"folkmoot://runs/([^/]+)(/report)?")
_JSON = MEDIA_TYPES["json"]
_INDEX = types.Resource(
    name="runs", uri=RUNS, description=f"The newest {NEWEST} runs, the newest first.", mime_type=_JSON
)
_TEMPLATES = [
    types.ResourceTemplate(
        name="run",
        uri_template=f"{RUNS}/{{id}}",
        description="A run as `folkmoot runs show RUN --json` prints it: how it ended, its report, its cost.",
        mime_type=_JSON,
    ),
    types.ResourceTemplate(
        name="report", uri_template=f"{RUNS}/{{id}}/report", description="The final report of a run alone."
    ),
]


def page(
    entries: Sequence[T], asked: types.PaginatedRequestParams | None, key: Callable[[T], str]
) -> tuple[list[T], str | None]:
    cursor = asked.cursor if asked else None
    try:
        return page_after(entries, cursor, PAGE, key)
    except KeyError:
        raise MCPError(types.INVALID_PARAMS, f"{cursor!r} is no cursor of this list") from None


class RunResources:
    def __init__(self, moot: Folkmoot, agents: Iterable[Agent]) -> None:
        self._moot = moot
        self._files = {agent.file for agent in agents}

    async def list(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """`resources/list`: the list of runs, then each run and its report, the newest first."""
        everything = [_INDEX, *(resource for row in await self._rows() for resource in _resources(row))]
        resources, cursor = page(everything, params, lambda resource: resource.uri)
        return types.ListResourcesResult(resources=resources, next_cursor=cursor)

    async def list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """`resources/templates/list`."""
        return types.ListResourceTemplatesResult(resource_templates=_TEMPLATES)

    async def read(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """`resources/read`."""
        mime, text = await self._content(params.uri)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=mime, text=text)]
        )

    async def _content(self, uri: str) -> tuple[str, str]:
        rows = await self._rows()
        if uri == RUNS:
            return _JSON, msgspec.json.encode(rows[:NEWEST]).decode()
        named = _RUN.fullmatch(uri)
        if named and any(row.run_id == named[1] for row in rows):
            result = await self._moot.result(named[1])
            if not named[2]:
                return _JSON, msgspec.json.encode(result.to_json()).decode()
            if report := result.final_report:
                return MEDIA_TYPES[report.format], report.content
        raise MCPError(types.INVALID_PARAMS, f"there is no resource {uri!r}", {"uri": uri})

    async def _rows(self) -> Sequence[RunRow]:
        return await self._moot.runs(RunQuery(agents=tuple(self._files)))


def _resources(row: RunRow) -> Iterator[types.Resource]:
    about = f"{row.status}, {row.agent}, {row.started_at}"
    yield types.Resource(name=row.run_id, uri=f"{RUNS}/{row.run_id}", description=about, mime_type=_JSON)
    if row.status == "completed":
        uri = f"{RUNS}/{row.run_id}/report"
        yield types.Resource(name=f"{row.run_id}/report", uri=uri, description=f"The final report: {about}")
