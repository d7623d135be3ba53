"""The tool servers of a project before its user: what each offers, and what of that is not what was trusted."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from folkmoot.domain.settings import Settings
from folkmoot.engine.owner import is_gone, this_process
from folkmoot.errors import ServerFailed
from folkmoot.tools.mcp.listing import Listings, Offer, changes, mark_of
from folkmoot.tools.mcp.servers import Servers
from folkmoot.tools.trust import TrustStore, Wish


@dataclass(frozen=True, slots=True)
class Look:
    """What a server offered when it was asked, or why it could not be."""

    name: str
    mark: str
    offers: tuple[Offer, ...] = ()
    failed: str = ""

    def wishes(self, listings: Listings, folder: Path) -> Iterator[Wish]:
        """What its user must look at: each tool that is not what was trusted."""
        now = {offer.name: offer for offer in self.offers}
        for tool, how in changes(listings.of(folder, self.mark) or (), self.offers):
            said = f": {now[tool].description}" if tool in now else ""
            yield Wish(f"the tool {self.name}.{tool} {how}{said}", f"{self.mark} {tool}")


def look_at_servers(folder: Path, settings: Settings) -> list[Look]:
    """Start each server once and ask what it offers. Their commands must have been allowed."""
    return asyncio.run(_looks(folder, settings))


async def _looks(folder: Path, settings: Settings) -> list[Look]:
    servers = Servers(folder, os.environ, TrustStore(os.environ).listings, this_process(), is_gone)

    async def look(name: str) -> Look:
        source = settings.tools[name]
        try:
            return Look(name, mark_of(source), await servers.offers(name, source))
        except ServerFailed as error:
            return Look(name, mark_of(source), failed=str(error))

    try:
        names = [name for name, source in settings.tools.items() if source.kind == "mcp"]
        return await asyncio.gather(*map(look, names))
    finally:
        await servers.close()
