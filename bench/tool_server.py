"""A call of a tool server: through the SDK's own client, and through Folkmoot's."""

import os
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

from bench.measure import Side, compare
from folkmoot.domain.message import ToolCall
from folkmoot.domain.settings import ToolSource
from folkmoot.engine.claims import is_owner_gone, this_process
from folkmoot.ports import Site
from folkmoot.tools.consent import Listings, mark_of
from folkmoot.tools.mcp.servers import Servers

SERVER = str(Path(sys.executable).parent / "mcp-server-time")
TOOL, ARGUMENTS = "get_current_time", {"timezone": "Europe/Paris"}
CALL, SITE = ToolCall("1", TOOL, ARGUMENTS), Site(run="r", session="r", span="0", turn=1, call=1)


async def compared(folder: Path, runs: int, rounds: int) -> tuple[Side, Side]:
    """The same call of the same server, each side with a process of its own."""
    source, listings = ToolSource("mcp", command=(SERVER,)), Listings(folder / "servers.json")
    servers = Servers(folder, os.environ, listings, this_process(), is_owner_gone)
    offers = await servers.offers("time", source)
    listings.keep(folder, mark_of(source), offers)
    await servers.close()
    tool = next(tool for tool in servers.tools("time", source) if tool.name == TOOL)
    try:
        async with Client(StdioServerParameters(command=SERVER)) as client:

            async def bare() -> str:
                return str((await client.call_tool(TOOL, ARGUMENTS)).content)

            async def folkmoot() -> str:
                return (await tool.call(CALL, SITE)).text

            for side in (bare, folkmoot):
                if "Europe/Paris" not in await side():
                    raise SystemExit(f"the call through {side.__name__} did not give the time")
            return await compare(bare, folkmoot, runs, rounds)
    finally:
        await servers.close()
