"""The tool servers of a project before its user: what each offers, and what of that is not what was trusted."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from folkmoot.domain.settings import ToolSource
from folkmoot.engine.owner import is_gone, this_process
from folkmoot.errors import ServerFailed
from folkmoot.tools.consent import ConsentItem, ConsentStore, Offer, changes, mark_of
from folkmoot.tools.mcp.servers import Servers


@dataclass(frozen=True, slots=True)
class Look:
    """What a server offered when it was asked, or why it could not be."""

    name: str
    mark: str
    offers: tuple[Offer, ...] = ()
    failed: str = ""

    def changed_tools(self, known: Iterable[Offer]) -> Iterator[ConsentItem]:
        """Each tool that is not what was allowed."""
        now = {offer.name: offer for offer in self.offers}
        for tool, how in changes(known, self.offers):
            said = f": {now[tool].description}" if tool in now else ""
            text = f"the tool {self.name}.{tool} {how}{said}"
            yield ConsentItem("server", f"tools.{self.name}.{tool}", text, f"{self.mark} {how}")


def look_at_servers(folder: Path, sources: Mapping[str, ToolSource]) -> list[Look]:
    """Start each server once and ask what it offers. Their commands must have been allowed."""
    return asyncio.run(_looks(folder, sources))


async def _looks(folder: Path, sources: Mapping[str, ToolSource]) -> list[Look]:
    servers = Servers(folder, os.environ, ConsentStore().listings, this_process(), is_gone)

    async def look(name: str) -> Look:
        source = sources[name]
        try:
            return Look(name, mark_of(source), await servers.offers(name, source))
        except ServerFailed as error:
            return Look(name, mark_of(source), failed=str(error))

    try:
        return await asyncio.gather(*map(look, sources))
    finally:
        await servers.close()
