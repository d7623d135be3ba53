"""Views of the whole journal that are kept: each look reads only what came since the last."""

from __future__ import annotations

import asyncio

from folkmoot.app import Folkmoot
from folkmoot.views.conversations import Conversations
from folkmoot.views.work_sessions import WorkList


class Folds:
    def __init__(self, moot: Folkmoot) -> None:
        self._moot = moot
        self._lock = asyncio.Lock()
        self._seen = 0
        self.work = WorkList()
        self.conversations = Conversations()
        self.delegated = Conversations(delegated=True)

    async def now(self) -> Folds:
        """As the journal stands now."""
        async with self._lock:
            async for entry in self._moot.events(after=self._seen):
                self.work.take(entry)
                self.conversations.take(entry.draft)
                self.delegated.take(entry.draft)
                self._seen = entry.seq
        return self
