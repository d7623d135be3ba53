"""What a run needs to happen again: everything it touched, made from its record: time, budget, cache, models, tools."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from folkmoot.domain.agent import Graph
from folkmoot.domain.budget import Allowance, Limits
from folkmoot.domain.call_events import CacheHit, SubAgentCompleted, SubAgentSpawned
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import (
    BudgetExceeded,
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RunCancelled,
    RunParked,
    RunStarted,
    SessionStarted,
    ToolFailed,
)
from folkmoot.domain.inbox_events import ApprovalExpired
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import ASK_USER
from folkmoot.domain.older_entries import is_unattended
from folkmoot.domain.spans import prefixes
from folkmoot.domain.team_events import GuardLoopBlocked, TeamStarted
from folkmoot.engine.fork import AskingTools
from folkmoot.engine.record import Record
from folkmoot.journal.memory import MemoryJournal
from folkmoot.models.recorded import RecordedModel, Turn
from folkmoot.orchestration.inbox import NOBODY, Attendance, Inbox
from folkmoot.orchestration.invocation import Run
from folkmoot.orchestration.kit import Kits
from folkmoot.orchestration.ledger import Ledger, Scope, Tally
from folkmoot.orchestration.log import RunLog
from folkmoot.orchestration.other_runs import LoopGuard, ResultCache, Sent, Traffic
from folkmoot.ports import Clock, Journal, NewRun, Request, Tools
from folkmoot.tools.registry import RecordedTools

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
        if refused := guard.objection(message):
            return refused
        await asyncio.sleep(0)  # other runs were looked at: whoever needed no look was quicker
        events = (draft.event for draft in self._record.drafts)
        blocked = (event for event in events if isinstance(event, GuardLoopBlocked) and event.span == span)
        return next((event.reason for event in blocked), "")


@dataclass(frozen=True, slots=True)
class Script:
    """What a replay needs beside the entries; all by artifact."""

    graphs: Mapping[str, Graph]
    tools: Mapping[str, Mapping[str, ToolSpec]]
    kept: Mapping[str, bytes]
    overhear: Callable[[Request], None] | None = None
    """Told whatever a model is asked."""


class Stage:
    def __init__(self, run_id: str, record: Record, script: Script, turn: Turn) -> None:
        self._id = run_id
        self._record = record
        self._script = script
        self._turn = turn
        self._kept = MemoryJournal()
        """Only for artifacts: what the run kept, and what it keeps again."""
        for content in script.kept.values():
            self._kept.keep(content)
        self._model = RecordedModel(record.drafts, turn, script.overhear)
        self.clock = RecordedClock(record)

    @property
    def started(self) -> RunStarted:
        return self._record.drafts.started

    @property
    def buried_for(self) -> str:
        """Why the run was ended by somebody who did not run it."""
        event = self._record.drafts.last
        return event.reason if isinstance(event, RunCancelled) else ""

    def log(self) -> RunLog:
        """For the next activation, with what has happened so far; it writes into a memory of its own."""
        together = self._record.drafts[0].work_session_id
        begins = NewRun("replay", 0.0)
        return RunLog(MemoryJournal(), self.clock, self._id, begins, self._record.past, together)

    def run(self, log: RunLog) -> Run:
        graph, tools = self._pinned()
        run = Run(
            id=self._id,
            seed=self.started.seed,
            graph=graph,
            kits=Kits(graph, tools),
            models=self._model,
            tools=tools,
            clock=self.clock,
            log=log,
            keep=self._kept.keep,
            artifact=self._kept.artifact,
            ledger=RecordedLedger(graph.settings.limits, self.clock, self._record),
            cache=RecordedCache(self._kept, self.clock, self._record),
            traffic=RecordedTraffic(self._kept, self.clock, self._record),
            inbox=self._inbox(log),
            label=self._record.drafts.label,
        )
        for fold in run.folds:
            log.watch(fold)
        for draft in log.drafts:
            for fold in (*run.folds, run.inbox.grants):
                fold.fold(draft.span, draft.event)
        return run

    def _pinned(self) -> tuple[Graph, Tools]:
        """As the run was pinned by then."""
        pin = self._record.past.pins[-1] if self._record.past else self.started
        graph, drafts = self._script.graphs[pin.graph], self._record.drafts
        longest = max(agent.tuning.tool_response_max_bytes for agent in graph.agents.values())
        tools: Tools = RecordedTools(
            self._script.tools[pin.tools], drafts, self._script.kept, self._turn, longest + 1
        )
        return graph, AskingTools(tools) if drafts.is_forked else tools

    def _inbox(self, log: RunLog) -> Inbox:
        """Whoever was there then says the same; where the run parked, nobody was."""
        rest = list(self._activation())
        parks = bool(rest) and isinstance(rest[-1].event, RunParked)
        denied = any(_is_denied(draft) for draft in rest)
        return Inbox(self._id, log, Attendance(stay=not parks and not denied), deny=denied)

    def _activation(self) -> Iterator[Draft]:
        """What is left of the record up to the next time that the run parks."""
        for draft in self._record.missing():
            yield draft
            if isinstance(draft.event, RunParked):
                return


def _is_denied(draft: Draft) -> bool:
    """Whether nobody was there, and the project takes that for a no."""
    match draft.event:
        case ApprovalExpired(reason=reason, unattended=unattended):
            return unattended or reason == NOBODY
        case ToolFailed(tool=tool, text=text, code=code):
            return code == "unattended" or (tool == ASK_USER and is_unattended(text))
        case _:
            return False
