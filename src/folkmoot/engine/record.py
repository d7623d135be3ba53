"""What a run recorded, and how much of it has happened again. Pure: it only compares.

Within a span the order is exact. Only what the parallel calls of one answer noted may come in another order among
themselves, because it depends on who was quicker, and no decision depends on it.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict
from collections.abc import Awaitable, Iterator, Sequence
from hashlib import sha256
from itertools import count
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from folkmoot.domain.budget import Allowance, Limits
from folkmoot.domain.call_events import CacheHit, SessionDestroyed, SubAgentCompleted, SubAgentSpawned
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import (
    BudgetExceeded,
    CancelRequested,
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RunCancelled,
    RunFailed,
    RunForked,
    RunParked,
    SessionCancelled,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.inbox_events import ApprovalExpired, ClientCalled
from folkmoot.domain.sentences import describe_event
from folkmoot.domain.spans import prefixes
from folkmoot.domain.team_events import GuardLoopBlocked, TeamCancelled, TeamStarted
from folkmoot.orchestration.history import RunHistory
from folkmoot.orchestration.ledger import BudgetLedger, BudgetScope, SpendTally
from folkmoot.orchestration.log import RunLog
from folkmoot.orchestration.other_runs import LoopGuard, ResultCache, SentMessage, Traffic
from folkmoot.ports import Clock, Journal

_OF_CALLS = (
    "tool.",
    "approval.",
    "question.",
    "cache.",
    "plan.updated",
    "step.",
    "sub_agent.failed",
    "clarification.refused",
    "parent.refused",
    "guard.",
    "a2a.",
)
"""What calls note at the place of their caller."""
_NOT_COMPARED: dict[type[Event], dict[str, Any]] = {
    LlmRequest: {"max_output": 0, "reserved_tokens": 0, "reserved_usd": 0.0},
    LlmResponse: {"latency_ms": 0},
    LlmFailed: {"latency_ms": 0, "status": 0, "kind": "", "reset_after": 0.0},
    ToolStarted: {"grounds": ""},
    ToolFinished: {"latency_ms": 0, "records": None},
    ToolFailed: {"latency_ms": 0, "code": "", "limit": ""},
    ToolInDoubt: {"retry_after": 0.0},
    ClientCalled: {"expires": None},
    ApprovalExpired: {"unattended": False},
    SessionDestroyed: {"by": ""},
    TeamCancelled: {"by": ""},
    RunFailed: {"kind": "", "reset_after": 0.0},
}
"""Depends on the clock, the lease or this release; or is not in old journals, where a text says the same."""
_ANSWERED = ("a2a.response", "a2a.complete", "a2a.spawn_result")
_OF_A_STOP = ("session.cancelled", "session.destroyed", "team.cancelled", "run.cancel", *_ANSWERED)


class ReplayRecord:
    def __init__(self, drafts: RunHistory) -> None:
        self.drafts = drafts
        self.divergence = ""
        """The first thing that happened otherwise, in words."""
        self.past = RunHistory()
        """What has happened again, in the order in which it did."""
        given = _count_inherited(drafts)
        self.past += drafts[:given]
        self._again: dict[int, Draft] = dict(enumerate(drafts[:given]))
        """What has happened again, by the entry that it equals."""
        self._missing = set(range(given, len(drafts)))
        self._spans: defaultdict[str, list[int]] = defaultdict(list)
        for place in range(given, len(drafts)):
            self._spans[drafts[place].span].append(place)
        self._at = given
        self._stopped = not drafts or not drafts.is_over or isinstance(drafts.last, RunCancelled)

    @property
    def at(self) -> int:
        """The first entry that has not happened again; their number when all have."""
        while self._at < len(self.drafts) and self._at not in self._missing:
            self._at += 1
        return self._at

    @property
    def next(self) -> Draft | None:
        return self.drafts[self.at] if self.at < len(self.drafts) else None

    @property
    def over(self) -> bool:
        return bool(self.divergence) or not self._missing

    @property
    def again(self) -> list[Draft]:
        """What has happened again, in the order of the record."""
        return [self._again[place] for place in sorted(self._again)]

    def expected(self, span: str) -> int:
        """The next entry of a span; their number if nothing more happened there."""
        return next(iter(self._spans[span]), len(self.drafts))

    def missing(self) -> Iterator[Draft]:
        """What has not happened again yet, in order."""
        return (self.drafts[place] for place in sorted(self._missing))

    def happens(self, draft: Draft) -> None:
        """Something happened: it must be what happened then."""
        if self.divergence:
            return
        self.past.append(draft)
        for place in self._candidates(draft):
            if to_comparable(self.drafts[place]) == to_comparable(draft):
                self._spans[draft.span].remove(place)
                self._missing.remove(place)
                self._again[place] = draft
                return
        if not self._is_ahead(draft.span):
            self.divergence = self._difference(draft)

    def _candidates(self, draft: Draft) -> list[int]:
        places = self._spans[draft.span]
        if not draft.event.type.startswith(_OF_CALLS):
            return places[:1]
        count = 0
        while count < len(places) and self.drafts[places[count]].event.type.startswith(_OF_CALLS):
            count += 1
        return places[: max(count, 1)]

    def _is_ahead(self, span: str) -> bool:
        """A stop or the end of the record came before the branch got as far; what it does now says nothing."""
        rest = self._spans[span]
        return self._stopped and all(self.drafts[at].event.type.startswith(_OF_A_STOP) for at in rest)

    def _difference(self, draft: Draft) -> str:
        place, now = self.expected(draft.span), describe_draft(draft)
        if place == len(self.drafts):
            return f"at {draft.span}, after its last entry: now {now}, and the record has nothing more"
        then = describe_draft(self.drafts[place])
        fields = f": {_describe_changed_fields(self.drafts[place], draft)}" if then == now else ""
        return f"at {draft.span}, entry {place + 1}: {then}; now {now}{fields}"


def describe_draft(draft: Draft) -> str:
    """What happened, in one line."""
    return describe_event(draft.event, draft.agent_id, content=True, width=160)


def to_comparable(draft: Draft) -> tuple[str, str, Event]:
    """What must be equal: neither when it was, nor how long it took, nor what was reserved for it.

    A reservation is a guess at the size of texts, among them those of this release; what was decided with it is
    compared.
    """
    event = draft.event
    if isinstance(event, RunParked):
        event = RunParked(waiting=tuple(sorted(event.waiting)))
    elif left_out := _NOT_COMPARED.get(type(event)):
        event = replace(event, **left_out)
    return draft.session_id, draft.agent_id, event


def state_hash(drafts: Sequence[Draft]) -> str:
    """One number for all that happened in every span, whatever came first among parallel branches."""
    spans: defaultdict[str, list[object]] = defaultdict(list)
    for draft in drafts:
        spans[draft.span].append((draft.event.type, *to_comparable(draft)))
    return sha256(msgspec.json.encode(spans, order="deterministic")).hexdigest()


def find_orphan_end(drafts: Sequence[Draft]) -> int:
    """Where a run that nobody held any more was ended for good; their number if it was not."""
    last = drafts[-1].event
    if not isinstance(last, RunCancelled):
        return len(drafts)
    first = len(drafts) - 1
    while isinstance(stopped := drafts[first - 1].event, SessionCancelled) and stopped.reason == last.reason:
        first -= 1
    asked = any(
        isinstance(draft.event, CancelRequested) and draft.event.reason == last.reason for draft in drafts
    )
    return first if first < len(drafts) - 1 or not asked else len(drafts)


def _count_inherited(drafts: Sequence[Draft]) -> int:
    """How many entries were taken over from another run, and are no work of this one."""
    return next((n + 1 for n, draft in enumerate(drafts) if isinstance(draft.event, RunForked)), 0)


def _describe_changed_fields(then: Draft, now: Draft) -> str:
    """Which fields of two events of one kind differ."""
    old, new = (msgspec.to_builtins(to_comparable(draft)[2]) for draft in (then, now))
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return ", ".join(f"{name} {old.get(name)!r} then, {new.get(name)!r} now" for name in names)


T = TypeVar("T")
_BEGINNINGS = (SessionStarted, SubAgentSpawned, TeamStarted)


class RecordedClock:
    """It stands where the record stands. Nothing takes time; who pauses is woken when nothing else is left to do."""

    def __init__(self, record: ReplayRecord) -> None:
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


class RecordedLedger(BudgetLedger):
    """What was left at the moment of the recorded decision.

    Parallel branches spend from one budget, so what each may spend depends on their order, which is the record's.
    A decision and its entry are one step; so what stands before the entry is what had been spent.
    """

    def __init__(self, limits: Limits, clock: Clock, record: ReplayRecord) -> None:
        super().__init__(limits, clock)
        self.turnstile = asyncio.Semaphore(len(record.drafts))
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
                self._tallies[span] = SpendTally(descendants=tally.descendants, children=tally.children)
            self._reserved.clear()
            self._closing.clear()
        for draft in self._record.drafts[self._folded : place]:
            if isinstance(draft.event, LlmRequest | LlmResponse | LlmFailed):
                super().fold(draft.span, draft.event)
        self._folded = place

    def _elapsed(self, scope: BudgetScope, span: str, limit: str) -> float:
        """Nobody knows the time of then to the last digit; whether it was over is recorded."""
        place = self._record.expected(span)
        if place < len(self._record.drafts) and self._record.drafts[place].event == BudgetExceeded(limit):
            return float("inf")
        return 0.0


class RecordedCache(ResultCache):
    """Of equal calls only one asks at a time; so the next entry of their key says what it was told."""

    def __init__(self, journal: Journal, clock: Clock, record: ReplayRecord) -> None:
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

    def __init__(self, journal: Journal, clock: Clock, record: ReplayRecord) -> None:
        super().__init__(journal, clock)
        self._record = record

    async def objection(self, guard: LoopGuard, message: SentMessage, span: str, log: RunLog) -> str:
        if refused := guard.objection(message):
            return refused
        await asyncio.sleep(0)  # other runs were looked at: whoever needed no look was quicker
        events = (draft.event for draft in self._record.drafts)
        blocked = (event for event in events if isinstance(event, GuardLoopBlocked) and event.span == span)
        return next((event.reason for event in blocked), "")
