"""What MCP clients are offered: every agent as a tool, every run and its report as a resource."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.domain.run_row import RunRow
from folkmoot.errors import WrongUse
from folkmoot.ports import RunQuery
from folkmoot.protocols.runs import MEDIA_TYPES, describe_agent, name_agents, page_after

Context = ServerRequestContext[Any]
T = TypeVar("T")
RESUME = "folkmoot__resume"
"""Continues a run that waited; no agent may have this name."""
RESUME_TOOL = types.Tool(
    name=RESUME,
    title="Resume a run",
    description="Goes on with a run that waited for a person, after what it waited for was answered, "
    "or with one that was interrupted.",
    input_schema={
        "type": "object",
        "properties": {"run": {"type": "string", "description": "The id of the run."}},
        "required": ["run"],
        "additionalProperties": False,
    },
)
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


def agents_as_tools(moot: Folkmoot, only: Sequence[str] = ()) -> dict[str, Agent]:
    """By the names of their tools. Raises `WrongUse`."""
    agents = [moot.agent(name) for name in only] or list(moot.graph.agents.values())
    if not agents:
        raise WrongUse(f"there are no agents in {moot.folder}; name the folder of a project with --project")
    return name_agents(agents, (RESUME,))


def tool_of(name: str, agent: Agent) -> types.Tool:
    return types.Tool(
        name=name,
        title=agent.id,
        description=describe_agent(agent) or f"Runs the agent {agent.id}.",
        input_schema=_input_schema(agent),
        output_schema=_output_schema(agent),
    )


def request_of(agent: Agent, arguments: Mapping[str, Any]) -> str:
    """The request to the agent. Raises `WrongUse`; the run checks it against the agent's schema."""
    if _takes_object(agent):
        return msgspec.json.encode(arguments).decode()
    if arguments.keys() != {"request"}:
        raise WrongUse(f"{agent.id} takes one argument, `request`, not {sorted(arguments) or 'none'}")
    request = arguments["request"]
    if agent.input.format == "json":
        return msgspec.json.encode(request).decode()
    if not isinstance(request, str):
        raise WrongUse(f"the `request` of {agent.id} is a text, not {request!r}")
    return request


def _takes_object(agent: Agent) -> bool:
    """Whether its own schema can be that of a tool, whose arguments are always an object."""
    return agent.input.format == "json" and _is_object(agent.input.schema)


def _input_schema(agent: Agent) -> dict[str, Any]:
    schema = agent.input.schema
    if schema and _takes_object(agent):
        return schema
    plain = {"type": "string"} if agent.input.format == "text" else schema or {}
    return {
        "type": "object",
        "properties": {"request": {"description": "What the agent is asked.", **plain}},
        "required": ["request"],
        "additionalProperties": False,
    }


def _output_schema(agent: Agent) -> dict[str, Any] | None:
    """Promised only by an agent whose own report is the answer; and older clients know objects alone."""
    own = agent.terminal and (agent.team is None or agent.team.supervisor in (None, agent.file))
    promised = own and agent.output.format == "json" and _is_object(agent.output.schema)
    return agent.output.schema if promised else None


def _is_object(schema: Mapping[str, Any] | None) -> bool:
    return schema is not None and schema.get("type") == "object"


def list_page(
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
        everything = [_INDEX, *(resource for row in await self._rows() for resource in _build_resources(row))]
        resources, cursor = list_page(everything, params, lambda resource: resource.uri)
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


def _build_resources(row: RunRow) -> Iterator[types.Resource]:
    about = f"{row.status}, {row.agent}, {row.started_at}"
    yield types.Resource(name=row.run_id, uri=f"{RUNS}/{row.run_id}", description=about, mime_type=_JSON)
    if row.status == "completed":
        uri = f"{RUNS}/{row.run_id}/report"
        yield types.Resource(name=f"{row.run_id}/report", uri=uri, description=f"The final report: {about}")
