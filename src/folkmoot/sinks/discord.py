"""Events as embeds in a Discord channel, through the address of its webhook."""

from __future__ import annotations

from collections.abc import Sequence

from folkmoot.domain.entry import Entry
from folkmoot.ports import Clock
from folkmoot.sinks.embeds import embed, message
from folkmoot.sinks.http import Way


class DiscordSink:
    def __init__(self, url: str, clock: Clock) -> None:
        self._way = Way(url, clock)

    async def deliver(self, entries: Sequence[Entry], kept: str) -> str:
        await self._way.send("POST", self._way.url, message([embed(entry) for entry in entries]))
        return kept

    async def close(self) -> None:
        await self._way.close()
