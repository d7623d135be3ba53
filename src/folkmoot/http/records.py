"""What several screens fold from the whole journal, kept at hand: each look reads only what is new."""

from __future__ import annotations

import asyncio

from folkmoot.app import Folkmoot
from folkmoot.ports import Filter, Query
from folkmoot.views.conversations import Conversations
from folkmoot.views.presence import Presences
from folkmoot.views.threads import ThreadRow, thread_rows
from folkmoot.views.work_sessions import WorkList, WorkRow
from folkmoot.views.work_timeline import TimelineEntry, work_timeline


class Records:
    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._seen = 0
        self._reading = asyncio.Lock()
        self._work = WorkList()
        self._conversations = Conversations()
        self._presences = Presences()

    async def work_rows(self) -> list[WorkRow]:
        """Where something happened last first."""
        await self._catch_up()
        return self._work.rows(self._now)

    async def threads(self) -> list[ThreadRow]:
        """What main agents said to each other; where something was said last first."""
        work = {row.id: row for row in await self.work_rows()}
        return thread_rows(self._conversations.threads.values(), work, self._now)

    async def presences(self) -> Presences:
        await self._catch_up()
        return self._presences

    async def timeline(self, row: WorkRow) -> list[TimelineEntry]:
        entries = await self._moot.find(Filter(work_session=row.id, limit=row.events))
        return work_timeline(row.id, entries)

    @property
    def _now(self) -> str:
        return self._moot.moot.clock.now()

    async def _catch_up(self) -> None:
        async with self._reading:
            async for entry in self._moot.moot.journal.read(Query(after=self._seen)):
                self._work.take(entry)
                self._conversations.take(entry.draft)
                self._presences.take(entry)
                self._seen = entry.seq
