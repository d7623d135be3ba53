"""Tool servers for tests: one that misbehaves as it is told, and servers by others from the registries."""

import os
import sys
from pathlib import Path

import pytest

from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.domain.settings import ToolSource
from folkmoot.engine.claims import is_owner_gone, this_process
from folkmoot.ports import Site
from folkmoot.tools.consent import Listings, Offer, mark_of
from folkmoot.tools.mcp import config
from folkmoot.tools.mcp.servers import Servers, ServerTool
from tests.npm import installed

HERE = Path(__file__).parent
ROGUE = HERE / "rogue.py"
ECHO = Offer("echo", "Says it again.", {"type": "object"})
SITE = Site(run="r", session="r", span="0", turn=1, call=1)
TIMEOUT = 60.0
"""Far more than anything here takes, unless it hangs for ever."""


def rogue(*faults: str, timeout: float = TIMEOUT, **more) -> ToolSource:
    return ToolSource("mcp", command=(sys.executable, str(ROGUE), *faults), timeout=timeout, **more)


def marked(start: str) -> list[int]:
    """The living processes whose mark begins so."""
    return [pid for pid in config._pids() if config._mark(pid).startswith(start)]


class Shop:
    """Servers of an open project, in a folder where the rogue server keeps its notes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.owner = this_process()
        self.listings = Listings(folder / "servers.json")
        self.env = {**os.environ}
        self.servers = Servers(folder, self.env, self.listings, self.owner, is_owner_gone)

    def trust(self, source: ToolSource, *offers: Offer) -> None:
        self.listings.keep(self.folder, mark_of(source), offers or (ECHO,))

    def tools(self, source: ToolSource, *offers: Offer, name: str = "rogue") -> dict[str, ServerTool]:
        """Its tools by name, trusted as they are now; the rogue's are known without asking it."""
        self.trust(source, *offers)
        return {tool.name: tool.under(source) for tool in self.servers.tools(name, source)}

    def echo(self, *faults: str, name: str = "rogue", **more) -> ServerTool:
        return self.tools(rogue(*faults, **more), name=name)["echo"]

    async def known(self, name: str, source: ToolSource) -> dict[str, ServerTool]:
        """The tools of any server, as it says they are."""
        asking = Servers(self.folder, self.env, self.listings, self.owner, is_owner_gone)
        offers = await asking.offers(name, source)
        await asking.close()
        return self.tools(source, *offers, name=name)

    def noted(self, file: str) -> list[str]:
        path = self.folder / file
        return path.read_text().splitlines() if path.exists() else []


async def use(tool: ServerTool, /, **arguments) -> ToolResult:
    return await tool.call(ToolCall("1", "x", arguments), SITE)


@pytest.fixture
async def shop(tmp_path):
    """After each test: no process is left that it started, however far away it went."""
    shop = Shop(tmp_path)
    yield shop
    await shop.servers.close()
    assert not marked(shop.owner)


@pytest.fixture(scope="session")
def by_others(request):
    """The folder with the programs of `package.json`, from the npm registry, each checked against its hash."""
    return installed(request.config, HERE)
