"""What a run asks of its surroundings beside models and tools, answered from its record: time, budget, cache."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable
from itertools import count
from typing import TypeVar

from folkmoot.domain.a2a_events import GuardLoopBlocked
from folkmoot.domain.budget import Allowance, Limits
from folkmoot.domain.call_events import CacheHit, SubAgentCompleted, SubAgentSpawned
from folkmoot.domain.event import Event
from folkmoot.domain.events import BudgetExceeded, LlmFailed, LlmRequest, LlmResponse, SessionStarted
from folkmoot.domain.loop_guard import LoopGuard, Sent
from folkmoot.domain.team_events import TeamStarted
from folkmoot.engine.record import Record
from folkmoot.orchestration.cache import ResultCache
from folkmoot.orchestration.ledger import Ledger, Scope, Tally, prefixes
from folkmoot.orchestration.log import RunLog
from folkmoot.orchestration.traffic import Traffic
from folkmoot.ports import Clock, Journal

T = TypeVar("T")
_BEGINNINGS = (SessionStarted, SubAgentSpawned, TeamStarted)


class RecordedClock:
    """It stands where the record stands. Nothing takes time; who pauses is woken when nothing else is left to do."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def now(self) -> str:
        return (self._record.next or self._record.drafts[-1]).ts

    def monotonic(self) -> float:
        return 0.0

    def readings(self) -> tuple[float, float]:
        return 0.0, 0.0

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (seconds, next(self._order), woken))
        await woken

    async def within(self, seconds: float, work: Awaitable[T]) -> T:
        """What came too late then is recorded as that."""
        return await work

    def wake(self) -> bool:
        """Let the shortest pause be over; False if nobody pauses."""
        while self._sleepers:
            _, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)
                return True
        return False


class RecordedLedger(Ledger):
    """What was left at the moment of the recorded decision.

    Parallel branches spend from one budget, so what each may spend depends on their order, which is the record's.
    A decision and its entry are one step; so what stands before the entry is what had been spent.
    """

    def __init__(self, limits: Limits, clock: Clock, record: Record) -> None:
        super().__init__(limits, clock)
        self._record = record
        self._folded = 0
        began = (draft.span for draft in record.drafts if isinstance(draft.event, _BEGINNINGS))
        self._entered = {above for span in began for above in prefixes(span)}
        """Who was admitted then, whoever came first."""

    def fold(self, span: str, event: Event) -> None:
        if not isinstance(event, LlmRequest | LlmResponse | LlmFailed):
            super().fold(span, event)

    def allowance(self, span: str) -> Allowance:
        if self._scopes:
            self._go_to(self._record.expected(span))
        return super().allowance(span)

    def admit(self, span: str) -> str:
        if span in self._entered:
            self._admit(span)
            return ""
        return super().admit(span)

    def _go_to(self, place: int) -> None:
        if place < self._folded:
            self._folded = 0
            for span, tally in self._tallies.items():
                self._tallies[span] = Tally(descendants=tally.descendants, children=tally.children)
            self._reserved.clear()
            self._closing.clear()
        for draft in self._record.drafts[self._folded : place]:
            if isinstance(draft.event, LlmRequest | LlmResponse | LlmFailed):
                super().fold(draft.span, draft.event)
        self._folded = place

    def _elapsed(self, scope: Scope, span: str, limit: str) -> float:
        """Nobody knows the time of then to the last digit; whether it was over is recorded."""
        place = self._record.expected(span)
        if place < len(self._record.drafts) and self._record.drafts[place].event == BudgetExceeded(limit):
            return float("inf")
        return 0.0


class RecordedCache(ResultCache):
    """Of equal calls only one asks at a time; so the next entry of their key says what it was told."""

    def __init__(self, journal: Journal, clock: Clock, record: Record) -> None:
        super().__init__(journal, clock)
        self._record = record

    async def find(self, key: str, seconds: int) -> SubAgentCompleted | None:
        for draft in self._record.missing():
            match draft.event:
                case CacheHit(key=asked) as hit if asked == key:
                    counted = (hit.steps_taken, hit.tool_calls, hit.not_returned)
                    return SubAgentCompleted(hit.session, True, *counted, key, hit.artifact)
                case SubAgentCompleted(key=asked) if asked == key:
                    return None
        return None


class RecordedTraffic(Traffic):
    """What other runs sent then is not in the record; what the guard said of it is."""

    def __init__(self, journal: Journal, clock: Clock, record: Record) -> None:
        super().__init__(journal, clock)
        self._record = record

    async def objection(self, guard: LoopGuard, message: Sent, span: str, log: RunLog) -> str:
        events = (draft.event for draft in self._record.drafts)
        blocked = (event for event in events if isinstance(event, GuardLoopBlocked) and event.span == span)
        return next((event.reason for event in blocked), "")
