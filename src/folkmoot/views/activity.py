"""How long a run was active, waiting and idle: a fold over its events, and the unions of the
intervals that it finds. One more event costs the same however long the run is.

At every moment exactly one holds. Active: a model or a tool is at work. Waiting: none is, but a person or the run's
caller is asked, or the run is parked. Idle: neither. So the three always add up to the time that has passed, however
many agents work at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import RunForked
from folkmoot.domain.spans import call_place, run_of

Interval = tuple[float, float]
Key = tuple[str, int, int]
"""Session, turn and position of a call; a model request is at position 0."""


class Times(NamedTuple):
    """Seconds; together the time that has passed."""

    active: float
    waiting: float
    idle: float


class Intervals:
    """The union of intervals, in order and without overlaps. Each that is added ends no earlier than those before."""

    def __init__(self) -> None:
        self._parts: list[Interval] = []
        self._length = 0.0

    def add(self, start: float, end: float) -> None:
        while self._parts and self._parts[-1][1] >= start:
            first, last = self._parts.pop()
            self._length -= last - first
            start = min(start, first)
        self._parts.append((start, end))
        self._length += end - start

    def until(self, end: float, open: Iterable[float]) -> list[Interval]:
        """With what is open since then, up to `end`."""
        if (since := min(open, default=end)) >= end:
            return [*self._parts]
        kept = [(first, min(last, since)) for first, last in self._parts if first < since]
        if kept and kept[-1][1] >= since:
            since = kept.pop()[0]
        return [*kept, (since, end)]

    def length(self, end: float, open: Iterable[float]) -> float:
        """Of `until`, in seconds."""
        since = min(open, default=end)
        doubled = 0.0
        for first, last in reversed(self._parts):
            if last <= since:
                break
            doubled += last - max(first, since)
        return self._length - doubled + max(0.0, end - since)


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
        self._worked, self._waited, self._rested, self._busy = (Intervals() for _ in range(4))
        """`_busy` is all of the others together."""

    def take(self, draft: Draft, at: float) -> None:
        session, event = draft.session_id, draft.event
        run, key = run_of(session), _key(session, event)
        if (since := self._parked.pop(run, None)) is not None:
            self._add(since, at, self._waited, self._rested)
        match event.type:
            case "llm.request" | "tool.started":
                self._begin(key, at)
            case "llm.response" | "llm.failed" | "tool.finished" | "tool.failed":
                self._end(key, at)
            case "session.started" | "team.started":
                if called := call_place(draft.span):  # from here on it is the session that works, or waits
                    self._end((getattr(event, "parent", ""), called.turn, called.call), at)
            case "run.parked":
                self._stop(at, run=run)
                self._parked[run] = at
            case "run.completed" | "run.failed" | "run.cancelled" | "run.pruned":
                self._close(at, run=run)
            case "session.completed" | "session.failed" | "session.cancelled" | "team.completed":
                self._close(at, session=session)
            case _:
                self._talk(event, key, at)

    def _talk(self, event: Event, key: Key, at: float) -> None:
        match event.type:
            case "tool.in_doubt":
                self.work.pop(key, None)  # nobody knows when it ended
                self._ask(str(key), key, at)
            case "tool.settled":
                self._answer(str(key), at)
            case "approval.requested" | "client.called" | "question.asked":
                self._ask(getattr(event, "id", ""), key, at)
            case "approval.approved" | "approval.denied" | "approval.expired" | "approval.revoked":
                self._answer(getattr(event, "id", ""), at)
            case "client.answered" | "question.answered":
                self._answer(getattr(event, "id", ""), at)

    @property
    def is_asking(self) -> bool:
        """Whether a person, or the caller, is asked something now."""
        return bool(self._waits)

    @property
    def _asked(self) -> list[float]:
        """Since when somebody is waited for."""
        return [*(since for since, *_ in self._waits.values()), *self._parked.values()]

    def active(self, until: float) -> list[Interval]:
        """When at least one model or tool was at work."""
        return self._worked.until(until, self.work.values())

    def waiting(self, until: float) -> list[Interval]:
        """When a person or the caller was asked, or the run was parked; something may have been at work meanwhile."""
        return self._waited.until(until, self._asked)

    def times(self, until: float) -> Times:
        """From the beginning to then. Who works does not wait, whoever else does."""
        active = self._worked.length(until, self.work.values())
        busy = self._busy.length(until, [*self.work.values(), *self._asked])
        return Times(active, max(0.0, busy - active), max(0.0, until - busy))

    def unparked(self, until: float) -> float:
        """Seconds that count against the limit `wall`: all but those in which the run was parked."""
        return until - self._rested.length(until, self._parked.values())

    def _add(self, since: float, at: float, *kinds: Intervals) -> None:
        for each in (*kinds, self._busy):
            each.add(since, at)

    def _begin(self, key: Key, at: float) -> None:
        if key in self.work:
            # The process that began it is gone; when it ended, nobody knows. What it left open is done anew.
            self.work = dict.fromkeys(self.work, at)
        self.work[key] = at

    def _end(self, key: Key, at: float) -> None:
        if (since := self.work.pop(key, None)) is not None:
            self._add(since, at, self._worked)

    def _ask(self, name: str, key: Key, at: float) -> None:
        """A call that asks while it is under way, such as `ask_user`, does not work until it is answered."""
        self._waits[name] = at, key, key in self.work
        self._end(key, at)

    def _answer(self, name: str, at: float) -> None:
        if wait := self._waits.pop(name, None):
            since, key, is_under_way = wait
            self._add(since, at, self._waited)
            if is_under_way:
                self.work[key] = at

    def _stop(self, at: float, *, run: str = "", session: str = "") -> None:
        """Nothing in it works any more."""
        for key in [key for key in self.work if key[0] == session or run_of(key[0]) == run]:
            self._end(key, at)

    def _close(self, at: float, *, run: str = "", session: str = "") -> None:
        """Nor waits."""
        self._stop(at, run=run, session=session)
        for name, (since, key, _) in [*self._waits.items()]:
            if key[0] == session or run_of(key[0]) == run:
                self._add(since, at, self._waited)
                del self._waits[name]


def _key(session: str, event: Event) -> Key:
    return session, getattr(event, "turn", 0), getattr(event, "call", 0)


def _seconds(ts: str) -> float:
    return datetime.fromisoformat(ts).timestamp()
