"""All servers of an open project: one process each, shared by its runs, gone when it is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from shlex import quote

from folkmoot.domain.settings import ToolSource
from folkmoot.errors import ServerFailed, Untrusted
from folkmoot.tools.mcp.listing import Listings, Offer, mark_of
from folkmoot.tools.mcp.processes import end_processes
from folkmoot.tools.mcp.server import Server, ServerTool
from folkmoot.tools.mcp.way import Way


class Servers:
    def __init__(
        self,
        folder: Path,
        env: Mapping[str, str],
        listings: Listings,
        owner: str,
        is_gone: Callable[[str], bool],
    ) -> None:
        """`owner` names this opening of the project; `is_gone` says of such a name whether its process ended."""
        self._folder = folder
        self._env = env
        self._listings = listings
        self._owner = owner
        self._is_gone = is_gone
        self._servers: dict[tuple[str, str], Server] = {}

    def tools(self, name: str, source: ToolSource) -> list[ServerTool]:
        """As they were trusted; the server is not started. Raises `Untrusted`."""
        trusted = self._listings.of(self._folder, mark_of(source))
        if trusted is None:
            raise Untrusted(
                f"nobody has looked at the tools of the server {name!r} yet;"
                f" do it with: folkmoot trust {quote(str(self._folder))}"
            )
        server = self._server(name, source, trusted)
        return [ServerTool(server, offer) for offer in trusted]

    async def ready(self, tools: Collection[str]) -> None:
        """Start the servers of those among these tools that have one, and see that they are what was trusted.

        Raises `ServerFailed` with every server that did not start, or `Untrusted` with every tool that changed.
        """
        wanted = {tool.partition(".")[0] for tool in tools}
        servers = [server for (name, _), server in self._servers.items() if name in wanted]
        outcomes = await asyncio.gather(*(server.changed() for server in servers), return_exceptions=True)
        failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if failed and all(isinstance(error, ServerFailed) for error in failed):
            raise ServerFailed("\n".join(str(error) for error in failed))
        if failed:
            raise next(error for error in failed if not isinstance(error, ServerFailed))
        changed = [
            f"\n  - {server.way.name}.{tool} {how}"
            for server, outcome in zip(servers, outcomes, strict=True)
            if not isinstance(outcome, BaseException)
            for tool, how in outcome.items()
            if f"{server.way.name}.{tool}" in tools
        ]
        if changed:
            raise Untrusted(
                f"tools are not what was trusted any more:{''.join(changed)}\n"
                f"look at them, and allow them again with: folkmoot trust {quote(str(self._folder))}"
            )

    async def offers(self, name: str, source: ToolSource) -> tuple[Offer, ...]:
        """What a server offers now, whatever was trusted. Raises `ServerFailed`."""
        return await self._server(name, source, ()).offers()

    async def close(self) -> None:
        await asyncio.gather(*(server.close() for server in self._servers.values()))
        self._servers.clear()

    def _server(self, name: str, source: ToolSource, trusted: tuple[Offer, ...]) -> Server:
        key = (name, mark_of(source))
        if key not in self._servers:
            if not self._servers:
                end_processes(self._is_gone)  # what a Folkmoot left that was killed
            way = Way(name, source, self._folder, self._env, f"{self._owner}/{len(self._servers)}")
            self._servers[key] = Server(way, trusted)
        return self._servers[key]
