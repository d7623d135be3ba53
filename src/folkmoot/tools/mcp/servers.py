"""All servers of an open project: one process each, shared by its runs, gone when it is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from folkmoot.domain.message import Access, ToolCall, ToolResult, ToolSpec
from folkmoot.domain.naming import wire_name
from folkmoot.domain.settings import ToolSource
from folkmoot.errors import ServerFailed, Untrusted
from folkmoot.ports import Site
from folkmoot.tools.consent import Listings, Offer, changes, mark_of
from folkmoot.tools.mcp.config import ServerConfig, end_processes

if TYPE_CHECKING:
    from folkmoot.tools.mcp.connection import ServerConnection


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
        self._servers: dict[tuple[str, str], ToolServer] = {}

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
            f"\n  - {server.config.name}.{tool} {how}"
            for server, outcome in zip(servers, outcomes, strict=True)
            if not isinstance(outcome, BaseException)
            for tool, how in outcome.items()
            if f"{server.config.name}.{tool}" in tools
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

    def _server(self, name: str, source: ToolSource, trusted: tuple[Offer, ...]) -> ToolServer:
        key = (name, mark_of(source))
        if key not in self._servers:
            if not self._servers:
                end_processes(self._is_gone)  # what a Folkmoot left that was killed
            config = ServerConfig(
                name, source, self._folder, self._env, f"{self._owner}/{len(self._servers)}"
            )
            self._servers[key] = ToolServer(config, trusted)
        return self._servers[key]


_MOST_LOSSES = 3
"""In a row: then it is left alone for a while."""
_PAUSE = 30.0


class ToolServer:
    def __init__(self, config: ServerConfig, trusted: tuple[Offer, ...]) -> None:
        self.config = config
        self._trusted = trusted
        self._changed: dict[str, str] = {}
        self._connection: ServerConnection | None = None
        self._connecting = asyncio.Lock()
        self._losses = 0
        self._left_alone = 0.0
        """Until then, in the time of the event loop."""

    async def changed(self) -> dict[str, str]:
        """The tools that are not what was trusted, and why; connects. Raises `ServerFailed`."""
        await self._connected()
        return self._changed

    async def offers(self) -> tuple[Offer, ...]:
        """What it offers now; connects. Raises `ServerFailed`."""
        return await (await self._connected()).offers()

    async def call(self, tool: str, call: ToolCall, trace: Mapping[str, str]) -> ToolResult:
        try:
            connection = await self._connected()
            if tool in self._changed:
                return self._distrusted(tool)
            result = await connection.call(tool, call.arguments, trace)
        except ServerFailed as error:
            self._lost()
            return ToolResult(text=str(error), failed=True)
        self._losses = 0
        return result

    async def close(self) -> None:
        if self._connection:
            await self._connection.close()

    async def _connected(self) -> ServerConnection:
        async with self._connecting:
            connection = self._connection
            if connection is None or not connection.alive:
                connection = await self._connect()
            if connection.outdated:
                found = await connection.offers()
                self._changed = {name: how for name, how in changes(self._trusted, found) if how != "is new"}
            return connection

    async def _connect(self) -> ServerConnection:
        now = asyncio.get_running_loop().time()
        if now < self._left_alone:
            why = f"it was lost {self._losses} times in a row and is left alone for {_PAUSE:g} s"
            raise self.config.failed(why, "do without it, or try again later")
        if self._connection:
            await self._connection.close()
        try:
            from folkmoot.tools.mcp.connection import ServerConnection
        except ImportError as error:
            raise self.config.failed(
                str(error), "install the client with: pip install 'folkmoot[mcp]'"
            ) from None
        self._connection = connection = ServerConnection(self.config)
        try:
            await connection.opened()
        except BaseException:
            await connection.close()
            raise
        return connection

    def _lost(self) -> None:
        self._losses += 1
        if self._losses >= _MOST_LOSSES:
            self._left_alone = asyncio.get_running_loop().time() + _PAUSE

    def _distrusted(self, tool: str) -> ToolResult:
        text = (
            f"the tool {tool!r} of the server {self.config.name!r} {self._changed[tool]} since it was trusted; "
            f"it is not used until a person allows it again with: folkmoot trust {quote(str(self.config.folder))}"
        )
        return ToolResult(text=text, failed=True)


class ServerTool:
    """A tool of a server, as it was trusted."""

    def __init__(self, server: ToolServer, offer: Offer, source: ToolSource | None = None) -> None:
        self.name = offer.name
        self._server = server
        self._offer = offer
        self._source = source or ToolSource("mcp")

    def under(self, source: ToolSource) -> ServerTool:
        return ServerTool(self._server, self._offer, source)

    def spec(self, name: str) -> ToolSpec:
        access = self._source.access or self._claimed
        return ToolSpec(
            name=wire_name(name),
            description=self._offer.description,
            parameters=self._offer.parameters,
            effect=self._source.effect or "once",
            access=access,
            asks="" if access == "read" or (self._offer.read_only and not self._source.access) else "medium",
            untrusted=self._source.untrusted is not False,
        )

    @property
    def _claimed(self) -> Access:
        """What the server says of itself. Whoever asks it over the network sends it the arguments."""
        if not self._offer.read_only:
            return "exec"
        return "egress" if self._source.url else "read"

    async def call(self, call: ToolCall, site: Site, work_dir: Path = Path()) -> ToolResult:
        if call.malformed:
            return ToolResult(text="the arguments are not a JSON object", failed=True)
        return await self._server.call(self.name, call, site.trace)
