"""What agents of the whole project wrote to each other lately: what the loop guard goes by."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime

from folkmoot.domain.a2a_events import A2aSend
from folkmoot.domain.entry import Draft
from folkmoot.domain.loop_guard import LoopGuard, Sent
from folkmoot.orchestration.log import RunLog
from folkmoot.ports import Clock, Journal, Query


class Traffic:
    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock

    def now(self) -> float:
        """By the clock of the journal, because a window reaches over runs and processes."""
        return _seconds(self._clock.now())

    async def objection(self, guard: LoopGuard, message: Sent, span: str, log: RunLog) -> str:
        """Why a message to a receiver at this span is not delivered; empty if it may be.

        What this run sent is looked at last and without a pause, so that of parallel messages each counts.
        """
        if refused := guard.objection(message):
            return refused
        run, since = log.drafts[0].session_id, message.at - guard.window
        sent = [each async for each in self._elsewhere(run, since)]
        sent += _sent(log.drafts)
        for each in sorted(sent, key=lambda each: each.at):
            guard = guard.passed(each)
        return guard.objection(message)

    async def _elsewhere(self, run: str, since: float) -> AsyncIterator[Sent]:
        async for entry in self._journal.read(Query(types=(A2aSend.type,), newest_first=True)):
            if _seconds(entry.draft.ts) <= since:
                return
            if entry.stream != run:
                for sent in _sent([entry.draft]):
                    yield sent


def _sent(drafts: list[Draft]) -> Iterator[Sent]:
    for draft in drafts:
        if isinstance(event := draft.event, A2aSend):
            yield Sent(event.from_agent, event.to_agent, _seconds(draft.ts), event.hop)


def _seconds(ts: str) -> float:
    return datetime.fromisoformat(ts).timestamp()
