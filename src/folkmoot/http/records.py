"""What several screens show of the whole journal, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from folkmoot.app import Folkmoot
from folkmoot.http.folds import Folds
from folkmoot.ports import Filter
from folkmoot.views.conversations import ThreadRow, thread_rows
from folkmoot.views.timeline import TimelineEntry, work_timeline
from folkmoot.views.work_sessions import WorkRow


@dataclass(frozen=True)
class Records:
    moot: Folkmoot
    folds: Folds

    async def work_rows(self) -> Iterator[WorkRow]:
        """Where something happened last first; each is made when it is asked for."""
        return (await self.folds.now()).work.rows(self._now)

    async def work_row(self, id: str) -> WorkRow | None:
        return (await self.folds.now()).work.row(id, self._now)

    async def threads(self) -> list[ThreadRow]:
        """What main agents said to each other; where something was said last first."""
        folds, now = await self.folds.now(), self._now
        return thread_rows(folds.conversations.threads.values(), lambda id: folds.work.row(id, now), now)

    async def timeline(self, row: WorkRow) -> list[TimelineEntry]:
        entries = await self.moot.find(Filter(work_session=row.id, limit=row.events))
        return work_timeline(row.id, entries)

    @property
    def _now(self) -> str:
        return self.moot.moot.clock.now()
