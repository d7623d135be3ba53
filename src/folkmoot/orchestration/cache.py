"""Results of earlier calls in this project, found again in the journal. A failure is never one of them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import datetime

from folkmoot.domain.call_events import SubAgentCompleted
from folkmoot.ports import Clock, Journal, Query


class ResultCache:
    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self.turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By key: of equal calls at the same time the first runs, and the others wait for what it gives."""

    async def find(self, key: str, seconds: int) -> SubAgentCompleted | None:
        """The newest result under this key, if it is not older than so many seconds and still kept."""
        now = datetime.fromisoformat(self._clock.now())
        newest = Query(types=(SubAgentCompleted.type,), newest_first=True)
        async for entry in self._journal.read(newest):
            if (now - datetime.fromisoformat(entry.draft.ts)).total_seconds() > seconds:
                return None
            if isinstance(entry.event, SubAgentCompleted) and entry.event.key == key:
                return entry.event if await self._kept(entry.event.artifact) else None
        return None

    async def text(self, artifact: str) -> str:
        return (await self._journal.artifact(artifact)).decode()

    async def _kept(self, artifact: str) -> bool:
        try:
            await self._journal.artifact(artifact)
        except KeyError:
            return False
        return True
