"""How long a run was active, waiting and idle: a fold over its events, and the union of the intervals that it finds.

At every moment exactly one holds. Active: a model or a tool is at work. Waiting: none is, but a person or the run's
caller is asked, or the run is parked. Idle: neither. So the three always add up to the time that has passed, however
many agents work at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from folkmoot.domain.entry import Draft
from folkmoot.domain.event import Event
from folkmoot.domain.events import (
    RUN_ENDS,
    SESSION_ENDS,
    LlmFailed,
    LlmRequest,
    LlmResponse,
    RunParked,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolInDoubt,
    ToolStarted,
)
from folkmoot.domain.fork_events import RunForked
from folkmoot.domain.inbox_events import (
    ApprovalApproved,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRequested,
    ApprovalRevoked,
    ClientAnswered,
    ClientCalled,
    QuestionAnswered,
    QuestionAsked,
    ToolSettled,
)
from folkmoot.domain.team_events import TeamCompleted, TeamStarted

CALL = re.compile(r"/turn:(\d+)/call:(\d+)(?:/[^/]+)?$")
"""The call that a session came of, in its span."""
Interval = tuple[float, float]
Key = tuple[str, int, int]
"""Session, turn and position of a call; a model request is at position 0."""
_ANSWERS = (
    ApprovalApproved,
    ApprovalDenied,
    ApprovalExpired,
    ApprovalRevoked,
    ClientAnswered,
    QuestionAnswered,
)
_SESSION_ENDS = (*SESSION_ENDS, TeamCompleted)


class Times(NamedTuple):
    """Seconds; together the time that has passed."""

    active: float
    waiting: float
    idle: float


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """In order, without overlaps."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def divide(active: Iterable[Interval], waiting: Iterable[Interval], until: float) -> Times:
    """The time from 0 to `until`, by what was done in it. Who works does not wait, whoever else does."""
    working = [*active]
    worked = _within(working, until)
    waited = max(0.0, _within([*working, *waiting], until) - worked)
    return Times(worked, waited, max(0.0, until - worked - waited))


def measure(drafts: Iterable[Draft], until: str = "") -> Times:
    """Of a run, or of what a session, an agent or several runs did: from the first event to the last, or to `until`.
    What lies between a run and its fork is no time of either."""
    activity, zero, now = Activity(), None, 0.0
    for draft in drafts:
        at = _seconds(draft.ts)
        zero = at - now if zero is None or isinstance(draft.event, RunForked) else zero
        now = max(now, at - zero)
        activity.take(draft, now)
    return activity.times(max(now, _seconds(until) - zero) if until and zero is not None else now)


class Activity:
    """Takes a run's events one by one, each with the seconds since its beginning."""

    def __init__(self) -> None:
        self.work: dict[Key, float] = {}
        """Models and tools that are at work, and since when."""
        self._waits: dict[str, tuple[float, Key, bool]] = {}
        """What is waited for, by its name in the inbox: since when, by which call, and whether that is under way."""
        self._parked: dict[str, float] = {}
        """Runs that are parked, and since when."""
        self._worked: list[Interval] = []
        self._waited: list[Interval] = []
        self._rested: list[Interval] = []

    def take(self, draft: Draft, at: float) -> None:
        session, event = draft.session_id, draft.event
        run = _run_of(session)
        if (since := self._parked.pop(run, None)) is not None:
            self._rested.append((since, at))
        match event:
            case LlmRequest() | ToolStarted():
                self._begin(_key(session, event), at)
            case LlmResponse() | LlmFailed() | ToolFinished() | ToolFailed():
                self._end(_key(session, event), at)
            case ApprovalRequested() | ClientCalled() | QuestionAsked():
                self._ask(event.id, _key(session, event), at)
            case ToolInDoubt():
                self.work.pop(_key(session, event), None)  # nobody knows when it ended
                self._ask(str(_key(session, event)), _key(session, event), at)
            case ToolSettled():
                self._answer(str(_key(session, event)), at)
            case _ if isinstance(event, _ANSWERS):
                self._answer(event.id, at)
            case _:
                self._change(draft, run, at)

    def _change(self, draft: Draft, run: str, at: float) -> None:
        """What happens to a run or session as a whole."""
        event = draft.event
        match event:
            case SessionStarted(parent=parent) | TeamStarted(parent=parent):
                if called := CALL.search(draft.span):  # from here on it is the session that works, or waits
                    self._end((parent, int(called[1]), int(called[2])), at)
            case RunParked():
                self._stop(at, run=run)
                self._parked[run] = at
            case _ if isinstance(event, RUN_ENDS):
                self._close(at, run=run)
            case _ if isinstance(event, _SESSION_ENDS):
                self._close(at, session=draft.session_id)

    @property
    def is_asking(self) -> bool:
        """Whether a person, or the caller, is asked something now."""
        return bool(self._waits)

    def active(self, until: float) -> list[Interval]:
        """When at least one model or tool was at work."""
        return union([*self._worked, *((since, max(since, until)) for since in self.work.values())])

    def waiting(self, until: float) -> list[Interval]:
        """When a person or the caller was asked, or the run was parked; something may have been at work meanwhile."""
        open = [since for since, *_ in self._waits.values()]
        return union([*self._waited, *((since, max(since, until)) for since in open), *self._parks(until)])

    def times(self, until: float) -> Times:
        return divide(self.active(until), self.waiting(until), until)

    def unparked(self, until: float) -> float:
        """Seconds that count against the limit `wall`: all but those in which the run was parked."""
        return until - _within(self._parks(until), until)

    def _parks(self, until: float) -> list[Interval]:
        return [*self._rested, *((since, max(since, until)) for since in self._parked.values())]

    def _begin(self, key: Key, at: float) -> None:
        if key in self.work:
            # The process that began it is gone; when it ended, nobody knows. What it left open is done anew.
            self.work = dict.fromkeys(self.work, at)
        self.work[key] = at

    def _end(self, key: Key, at: float) -> None:
        if (since := self.work.pop(key, None)) is not None:
            self._worked.append((since, at))

    def _ask(self, name: str, key: Key, at: float) -> None:
        """A call that asks while it is under way, such as `ask_user`, does not work until it is answered."""
        self._waits[name] = at, key, key in self.work
        self._end(key, at)

    def _answer(self, name: str, at: float) -> None:
        if wait := self._waits.pop(name, None):
            since, key, is_under_way = wait
            self._waited.append((since, at))
            if is_under_way:
                self.work[key] = at

    def _stop(self, at: float, *, run: str = "", session: str = "") -> None:
        """Nothing in it works any more."""
        for key in [key for key in self.work if key[0] == session or _run_of(key[0]) == run]:
            self._end(key, at)

    def _close(self, at: float, *, run: str = "", session: str = "") -> None:
        """Nor waits."""
        self._stop(at, run=run, session=session)
        for name, (since, key, _) in [*self._waits.items()]:
            if key[0] == session or _run_of(key[0]) == run:
                self._waited.append((since, at))
                del self._waits[name]


def _key(session: str, event: Event) -> Key:
    return session, getattr(event, "turn", 0), getattr(event, "call", 0)


def _run_of(session: str) -> str:
    return session.partition(":")[0]


def _within(intervals: Iterable[Interval], until: float) -> float:
    return sum(max(0.0, min(end, until) - start) for start, end in union(intervals))


def _seconds(ts: str) -> float:
    return datetime.fromisoformat(ts).timestamp()
