"""What several screens show of the whole journal, as rows."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.app import Folkmoot
from folkmoot.http.folds import Folds
from folkmoot.ports import Filter
from folkmoot.views.threads import ThreadRow, thread_rows
from folkmoot.views.work_sessions import WorkRow
from folkmoot.views.work_timeline import TimelineEntry, work_timeline


@dataclass(frozen=True)
class Records:
    moot: Folkmoot
    folds: Folds

    async def work_rows(self) -> list[WorkRow]:
        """Where something happened last first."""
        return (await self.folds.now()).work.rows(self._now)

    async def threads(self) -> list[ThreadRow]:
        """What main agents said to each other; where something was said last first."""
        work = {row.id: row for row in await self.work_rows()}
        return thread_rows(self.folds.conversations.threads.values(), work, self._now)

    async def timeline(self, row: WorkRow) -> list[TimelineEntry]:
        entries = await self.moot.find(Filter(work_session=row.id, limit=row.events))
        return work_timeline(row.id, entries)

    @property
    def _now(self) -> str:
        return self.moot.moot.clock.now()
