"""The protocol's server of an open project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcp.server import Server
from mcp_types import ListToolsResult, PaginatedRequestParams, Tool

from folkmoot import __version__
from folkmoot.app import Folkmoot
from folkmoot.domain.agent import Agent
from folkmoot.mcp_server.asking import Context
from folkmoot.mcp_server.calling import Calls
from folkmoot.mcp_server.offers import RESUME, RESUME_TOOL, offered, tool_of
from folkmoot.mcp_server.pages import page
from folkmoot.mcp_server.records import Records

INSTRUCTIONS = f"""Each tool is an agent, or a team of them; a call runs it, which may take minutes.
If the result says that the run waits for a person, tell your user; when it is answered, {RESUME} goes on with it.
The resources are the runs so far and their reports."""


def mcp_server(moot: Folkmoot, agents: Sequence[str] = ()) -> Server[Any]:
    """Every agent of the project as a tool, or only `agents`, by file or id; and the runs of those as resources."""
    offers = offered(moot, agents)
    records = Records(moot, offers)
    return Server(
        "folkmoot",
        version=__version__,
        title=f"Folkmoot: {moot.folder.resolve().name}",
        instructions=INSTRUCTIONS,
        on_list_tools=_Listing(offers),
        on_call_tool=Calls(moot, offers).take,
        on_list_resources=records.listed,
        on_list_resource_templates=records.templates,
        on_read_resource=records.read,
    )


class _Listing:
    """`tools/list`."""

    def __init__(self, offers: Mapping[str, Agent]) -> None:
        self._tools: list[Tool] = [*(tool_of(name, agent) for name, agent in offers.items()), RESUME_TOOL]

    async def __call__(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        tools, cursor = page(self._tools, params, lambda tool: tool.name)
        return ListToolsResult(tools=tools, next_cursor=cursor)
