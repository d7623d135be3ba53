"""Lets a recorded run happen again: gives each cue when the record is there, and watches what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from folkmoot.domain.call_events import SessionDestroyed
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import (
    CancelRequested,
    LlmFailed,
    LlmRequest,
    LlmResponse,
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
from folkmoot.domain.older_entries import is_cancelled_with_run, is_destroyed_by_run
from folkmoot.domain.team_events import TeamCancelled
from folkmoot.engine.activation import Activation, bury
from folkmoot.engine.commands import CloseSession, is_kept
from folkmoot.engine.record import Record, buried_from, told_of
from folkmoot.engine.stage import Script, Stage
from folkmoot.orchestration.invocation import Run
from folkmoot.orchestration.log import Place, RunLog

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


class Rest(NamedTuple):
    """Where in the record of a run its work session was paused: it began nothing between two entries."""

    began: int
    """The last entry with which something began, or before which the run was parked."""
    parked: int
    work_session: str


def rests(drafts: Sequence[Draft]) -> Iterator[Rest]:
    began = -1
    for place, draft in enumerate(drafts):
        match draft.event:
            case RunParked(waiting=(str(id), *_)) if id.startswith("ws_"):
                yield Rest(began, place, id)
                began = place
            case LlmRequest() | ToolStarted() | RunParked():
                began = place


class Rehearsal:
    def __init__(self, run_id: str, record: Record, script: Script) -> None:
        self._record = record
        self._stage = Stage(run_id, record, script, self._turn)
        self._buried = buried_from(record.drafts)
        self._rests = list(rests(record.drafts))
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
        run = self._stage.run(log)
        activation = Activation(run, self._stage.started, fresh=not self._record.past)
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

    async def _conduct(self, run: Run, activation: Activation, task: asyncio.Future[None]) -> None:
        """Until the run ends or parks, the record is over, or nothing comes any more."""
        idle = 0
        while self._log and not task.done() and not self._record.over:
            moves = self._moves
            self._cue(run, activation, task)
            await asyncio.sleep(0)
            idle = idle + 1 if moves == self._moves else 0
            if idle > PATIENCE:
                if not self._stage.clock.wake():
                    return
                idle = 0

    def _cue(self, run: Run, activation: Activation, task: asyncio.Future[None]) -> None:
        """Bring about the next entry, if it is one that came from outside."""
        draft, place = self._record.next, self._record.at
        if draft is None or place == self._cued:
            return
        match draft.event:
            case LlmResponse() | LlmFailed() | ToolFinished() | ToolFailed() if place in self._waiting:
                self._waiting.pop(place).set_result(None)
            case event if isinstance(event, _WORDS) and (item := _asked(run, draft)):
                run.inbox.happen(item, event)
                self._cued = place
                self._cue(run, activation, task)  # several may have been said before anything else happened
                return
            case GateChanged() as event:
                run.inbox.tell(Place.of(draft), event)
            case CancelRequested(reason=reason) if not self._stopping:
                self._stopping = True
                activation.stop(reason)
            case SessionCancelled() | TeamCancelled() as event if not self._stopping and _with_run(event):
                self._stopping = True
                task.cancel()  # with whoever called it
            case _:
                return
        self._cued = place

    def _rest(self, activation: Activation) -> None:
        """If its work session was paused by now."""
        for rest in self._rests:
            if rest.began < self._record.at <= rest.parked:
                activation.rest(rest.work_session)

    def _happened(self, run: Run, activation: Activation) -> None:
        """What came from outside before anything else was decided: it must come before that again."""
        self._rest(activation)
        draft = self._record.next
        if draft is None or self._record.at == self._cued:
            return
        match draft.event:
            case RunRepinned() | ApprovalRevoked():
                self._log = None  # its process had ended, or might as well have
            case SessionDestroyed(session=session, reason=reason) as event if _by_user(event):
                if is_kept(run.log.drafts, session):
                    self._cued = self._record.at
                    CloseSession(session, reason).close(run.log, run.chats)
            case _ if self._record.at == self._buried:
                self._log = None

    def _take_in(self) -> None:
        """What happened while nobody ran the run: it was answered, repinned, broke, or was ended for good."""
        if not self._record.past:
            return
        log = self._watched()
        if self._record.at == self._buried:
            bury(log, self._stage.buried_for)
        before: Event | None = self._record.past[-1].event
        while (draft := self._record.next) and not self._record.over:
            follows = (type(before), type(draft.event)) in _PAIRS
            if not isinstance(draft.event, _BETWEEN) and not follows:
                break
            log.note(Place.of(draft), draft.event)
            before = draft.event

    def _watched(self) -> RunLog:
        log = self._log = self._stage.log()
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

    def _give_up(self) -> None:
        draft = self._record.next
        assert draft is not None
        told = f"entry {self._record.at + 1}: {told_of(draft)}"
        self._record.divergence = f"at {draft.span}, {told}; now nothing happens there"


def _by_user(event: SessionDestroyed) -> bool:
    return event.by == "user" if event.by else not is_destroyed_by_run(event.reason)


def _with_run(event: SessionCancelled | TeamCancelled) -> bool:
    if isinstance(event, SessionCancelled):
        return True
    return event.by == "run" if event.by else is_cancelled_with_run(event.reason)


def _asked(run: Run, draft: Draft) -> Item | None:
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
