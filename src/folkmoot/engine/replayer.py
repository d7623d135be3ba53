"""Lets a recorded run happen again: gives each cue when the record is there, and watches what comes of it.

Everything that the run touched is made from its record: time, budget, cache, models, tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from folkmoot.domain.agent import Graph
from folkmoot.domain.call_events import SessionDestroyed
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import (
    CancelRequested,
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RunCancelled,
    RunFailed,
    RunParked,
    RunRepinned,
    SessionCancelled,
    SystemError,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from folkmoot.domain.inbox import Item
from folkmoot.domain.inbox_events import (
    ApprovalApproved,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRevoked,
    ClientAnswered,
    GateChanged,
    QuestionAnswered,
    ToolSettled,
)
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.naming import ASK_USER
from folkmoot.domain.older_entries import is_cancelled_with_run, is_destroyed_by_run, is_unattended
from folkmoot.domain.team_events import TeamCancelled
from folkmoot.engine.activation import Activation, cancel_orphan
from folkmoot.engine.commands import CloseSession, is_kept_open
from folkmoot.engine.history import ApprovalRequiredTools
from folkmoot.engine.record import (
    RecordedCache,
    RecordedClock,
    RecordedLedger,
    RecordedTraffic,
    ReplayRecord,
    describe_draft,
    find_orphan_end,
)
from folkmoot.journal.sqlite import MemoryJournal
from folkmoot.models.recorded import RecordedModel
from folkmoot.orchestration.inbox import NOBODY, Inbox, InboxOptions
from folkmoot.orchestration.kit import ToolsetFactory
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.orchestration.run import AgentRun
from folkmoot.ports import NewRun, Request, Tools
from folkmoot.tools.registry import RecordedTools


@dataclass(frozen=True, slots=True)
class ReplayScript:
    """What a replay needs beside the entries; all by artifact."""

    graphs: Mapping[str, Graph]
    tools: Mapping[str, Mapping[str, ToolSpec]]
    kept: Mapping[str, bytes]
    overhear: Callable[[Request], None] | None = None
    """Told whatever a model is asked."""


PATIENCE = 300
"""Rounds of the event loop without anything new after which nothing more comes by itself. Nothing in a replay waits
for the world, so they are enough; more than a run needs to see that it only waits."""
_WORDS = (
    ApprovalApproved,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRevoked,
    ClientAnswered,
    QuestionAnswered,
    ToolSettled,
)
_BETWEEN = (*_WORDS, GateChanged, SessionDestroyed, RunRepinned, SystemError)
"""What can happen to a run from outside while none of its agents works."""
_PAIRS = (
    *((SessionDestroyed, RunParked), (GateChanged, RunParked), (RunParked, RunParked)),
    (SystemError, RunFailed),
)


def find_pauses(drafts: Sequence[Draft]) -> Iterator[tuple[int, int, str]]:
    """Where a work session was paused: after the last entry with which something began, up to the one that parked."""
    began = -1
    for place, draft in enumerate(drafts):
        match draft.event:
            case RunParked(waiting=(str(id), *_)) if id.startswith("ws_"):
                yield began, place, id
                began = place
            case LlmRequest() | ToolStarted() | RunParked():
                began = place


class Replayer:
    def __init__(self, run_id: str, record: ReplayRecord, script: ReplayScript) -> None:
        self._id = run_id
        self._record = record
        self._script = script
        self._kept = MemoryJournal()
        """Only for artifacts: what the run kept, and what it keeps again."""
        for content in script.kept.values():
            self._kept.keep(content)
        self._model = RecordedModel(record.drafts, self._turn, script.overhear)
        self._clock = RecordedClock(record)
        self._buried = find_orphan_end(record.drafts)
        self._rests = list(find_pauses(record.drafts))
        self._waiting: dict[int, asyncio.Future[None]] = {}
        """Who waits for which entry."""
        self._cued = -1
        """The last entry that was brought about from here."""
        self._stopping = False
        self._moves = 0
        """Counts whatever happens, so that one sees when nothing does."""
        self._log: RunLog | None = None
        """Of the activation under way; what is noted after it was cut off does not count."""

    async def to_its_end(self) -> None:
        """Activation by activation: as often as the run was parked, or cut off where one can see it."""
        began = -1
        while not self._record.over:
            if began == self._record.at:
                self._give_up()
                return
            began = self._record.at
            self._take_in()
            if not self._record.over and began == self._record.at:
                await self._activate()

    async def _activate(self) -> None:
        log = self._watched()
        run = self._run(log)
        activation = Activation(run, self._record.drafts.started, fresh=not self._record.past)
        log.watchers.append(lambda span, event: self._happened(run, activation))
        self._rest(activation)
        task = asyncio.ensure_future(activation.to_its_end())
        try:
            await asyncio.sleep(0)
            await self._conduct(run, activation, task)
        finally:
            self._log = None
            ended = await self._cut_off(task)
        if isinstance(ended, Exception) and not self._record.over:
            self._record.divergence = f"the run broke: {type(ended).__name__}: {ended}"

    async def _cut_off(self, task: asyncio.Future[None]) -> BaseException | None:
        """Whoever was only just started begins first, so that nothing is left that never ran."""
        for _ in range(0 if task.done() else PATIENCE):
            await asyncio.sleep(0)
        self._waiting.clear()
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        return ended

    async def _conduct(self, run: AgentRun, activation: Activation, task: asyncio.Future[None]) -> None:
        """Until the run ends or parks, the record is over, or nothing comes any more."""
        idle = 0
        while self._log and not task.done() and not self._record.over:
            moves = self._moves
            self._cue(run, activation, task)
            await asyncio.sleep(0)
            idle = idle + 1 if moves == self._moves else 0
            if idle > PATIENCE:
                if not self._clock.wake():
                    return
                idle = 0

    def _cue(self, run: AgentRun, activation: Activation, task: asyncio.Future[None]) -> None:
        """Bring about the next entry, if it is one that came from outside."""
        draft, place = self._record.next, self._record.at
        if draft is None or place == self._cued:
            return
        match draft.event:
            case LlmResponse() | LlmFailed() | ToolFinished() | ToolFailed() if place in self._waiting:
                self._waiting.pop(place).set_result(None)
            case event if isinstance(event, _WORDS) and (item := _find_asked_item(run, draft)):
                run.inbox.happen(item, event)
                self._cued = place
                self._cue(run, activation, task)  # several may have been said before anything else happened
                return
            case GateChanged() as event:
                run.inbox.tell(Place.of(draft), event)
            case CancelRequested(reason=reason) if not self._stopping:
                self._stopping = True
                activation.stop(reason)
            case SessionCancelled() | TeamCancelled() as event if not self._stopping and _is_with_run(event):
                self._stopping = True
                task.cancel()  # with whoever called it
            case _:
                return
        self._cued = place

    def _rest(self, activation: Activation) -> None:
        """If its work session was paused by now."""
        for began, parked, work_session in self._rests:
            if began < self._record.at <= parked:
                activation.rest(work_session)

    def _happened(self, run: AgentRun, activation: Activation) -> None:
        """What came from outside before anything else was decided: it must come before that again."""
        self._rest(activation)
        draft = self._record.next
        if draft is None or self._record.at == self._cued:
            return
        match draft.event:
            case RunRepinned() | ApprovalRevoked():
                self._log = None  # its process had ended, or might as well have
            case SessionDestroyed(session=session, reason=reason) as event if _is_by_user(event):
                if is_kept_open(run.log.drafts, session):
                    self._cued = self._record.at
                    CloseSession(session, reason).close(run.log, run.chats)
            case _ if self._record.at == self._buried:
                self._log = None

    def _take_in(self) -> None:
        """What happened while nobody ran the run: it was answered, repinned, broke, or was ended for good."""
        if not self._record.past:
            return
        log = self._watched()
        if self._record.at == self._buried and isinstance(self._record.drafts.last, RunCancelled):
            cancel_orphan(log, self._record.drafts.last.reason)
        before: Event | None = self._record.past[-1].event
        while (draft := self._record.next) and not self._record.over:
            follows = (type(before), type(draft.event)) in _PAIRS
            if not isinstance(draft.event, _BETWEEN) and not follows:
                break
            log.note(Place.of(draft), draft.event)
            before = draft.event

    def _watched(self) -> RunLog:
        """For the next activation, with what has happened so far; it writes into a memory of its own."""
        together, begins = self._record.drafts[0].work_session_id, NewRun("replay", 0.0)
        log = RunLog(MemoryJournal(), self._clock, self._id, begins, self._record.past, together)
        self._log = log
        log.watchers.append(lambda span, event: self._noted(log))
        return log

    def _noted(self, log: RunLog) -> None:
        if log is self._log:
            self._moves += 1
            self._record.happens(log.drafts[-1])

    async def _turn(self, place: int) -> None:
        """What is not in the record never comes."""
        self._moves += 1
        waiting = asyncio.get_running_loop().create_future()
        if place >= 0:
            self._waiting[place] = waiting
        await waiting

    def _run(self, log: RunLog) -> AgentRun:
        graph, tools = self._pinned()
        run = AgentRun(
            id=self._id,
            seed=self._record.drafts.started.seed,
            graph=graph,
            kits=ToolsetFactory(graph, tools),
            models=self._model,
            tools=tools,
            clock=self._clock,
            log=log,
            keep=self._kept.keep,
            artifact=self._kept.artifact,
            ledger=RecordedLedger(graph.settings.limits, self._clock, self._record),
            cache=RecordedCache(self._kept, self._clock, self._record),
            traffic=RecordedTraffic(self._kept, self._clock, self._record),
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
        pin = self._record.past.pins[-1] if self._record.past else self._record.drafts.started
        script, drafts = self._script, self._record.drafts
        graph, specs = script.graphs[pin.graph], script.tools[pin.tools]
        longest = max(agent.tuning.tool_response_max_bytes for agent in graph.agents.values())
        tools: Tools = RecordedTools(specs, drafts, script.kept, self._turn, longest + 1)
        return graph, ApprovalRequiredTools(tools) if drafts.is_forked else tools

    def _inbox(self, log: RunLog) -> Inbox:
        """Whoever was there then says the same; where the run parked, nobody was."""
        parks = denied = False
        for draft in self._record.missing():
            denied = denied or _is_denied(draft)
            parks = isinstance(draft.event, RunParked)
            if parks:
                break
        return Inbox(self._id, log, InboxOptions(stay=not parks and not denied), deny=denied)

    def _give_up(self) -> None:
        draft = self._record.next
        assert draft is not None
        told = f"entry {self._record.at + 1}: {describe_draft(draft)}"
        self._record.divergence = f"at {draft.span}, {told}; now nothing happens there"


def _is_by_user(event: SessionDestroyed) -> bool:
    return event.by == "user" if event.by else not is_destroyed_by_run(event.reason)


def _is_with_run(event: SessionCancelled | TeamCancelled) -> bool:
    if isinstance(event, SessionCancelled):
        return True
    return event.by == "run" if event.by else is_cancelled_with_run(event.reason)


def _find_asked_item(run: AgentRun, draft: Draft) -> Item | None:
    """What a person's word was said to, if it waits for one."""
    event = draft.event
    for item in run.inbox.items.values():
        if isinstance(event, ToolSettled):
            meant = (item.span, item.turn, item.call) == (draft.span, event.turn, event.call)
        else:
            meant = item.id == getattr(event, "id", "")
        if meant and (item.is_open or isinstance(event, ApprovalRevoked)):
            return item
    return None


def _is_denied(draft: Draft) -> bool:
    """Whether nobody was there, and the project takes that for a no."""
    match draft.event:
        case ApprovalExpired(reason=reason, unattended=unattended):
            return unattended or reason == NOBODY
        case ToolFailed(tool=tool, text=text, code=code):
            return code == "unattended" or (tool == ASK_USER and is_unattended(text))
        case _:
            return False
