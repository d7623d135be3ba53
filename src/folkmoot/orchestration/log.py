"""The one writer of a run's events.

What is noted is written together: by `settle`, which waits until it is durable and stands before every act, or by
`write_soon`, which stands before every other wait, so that nothing that happened lies about unwritten.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import ClassVar, Protocol, TypeVar, cast

import msgspec

from folkmoot.domain.entry import Draft, Entry, Event
from folkmoot.domain.events import RunForked, RunParked, SessionStarted
from folkmoot.domain.spans import is_within
from folkmoot.domain.value import Value
from folkmoot.orchestration.history import RunHistory
from folkmoot.ports import Clock, Epoch, Journal, NewRun

T = TypeVar("T")
SOON = 0.005
"""Seconds."""


class Place(Value):
    """Where in a run something happens."""

    span: str
    session: str
    agent: str
    conversation: str = ""
    """Between agents, if it takes part in one."""

    @classmethod
    def of(cls, draft: Draft) -> Place:
        return cls(draft.span, draft.session_id, draft.agent_id)


Watcher = Callable[[str, Event], None]


class Fold(Protocol):
    """Something that a run knows, folded from some of its events."""

    takes: ClassVar[tuple[type[Event], ...]]

    def fold(self, span: str, event: Event) -> None: ...


async def _confirm_unshared() -> None:
    """Where nobody else can own it."""


class Ownership(msgspec.Struct, frozen=True):
    """How this process owns a run."""

    confirm: Callable[[], Awaitable[None]] = _confirm_unshared
    """Return when the run is certainly still owned here; raises `StaleOwner` if it is not."""
    lease: float = 0.0
    """Seconds for which it is owned without a renewal."""


class RunLog:
    ownership = Ownership()

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        run: str,
        expected: NewRun | Epoch,
        past: Sequence[Draft] = (),
        work_session: str = "",
    ) -> None:
        self.work_session = past[0].work_session_id if past else work_session
        self._journal = journal
        self._clock = clock
        self._run = run
        self._expected = expected
        self._pending: list[Draft] = []
        self._written: asyncio.Future[Sequence[Entry]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._creating = False
        self._branches = 0
        """How many parts of the run go on at once, beside the one that waits for them."""
        self._spans: defaultdict[str, list[Event]] = defaultdict(list)
        self._conversations: dict[str, str] = {}
        """Between agents, by the spans of the sessions that take part in one; what is said to such a session belongs to
        it too."""
        self.drafts = RunHistory(past)
        """Everything of this run, recorded or about to be."""
        self.watchers: list[Watcher] = []
        """Told every event in the order of the journal, as long as the run lives."""
        self._folds: defaultdict[type[Event], list[Watcher]] = defaultdict(list)
        """Those that are told only of some."""
        self.redact: Callable[[Event], Event] | None = None
        """Takes out of an event what must not be recorded."""
        self.lost: BaseException | None = None
        """Why nothing can be recorded any more."""
        self.when_lost: Callable[[], None] = lambda: None
        """Called once, as soon as that is known: nobody may wait for what can never be recorded."""
        for draft in past:
            self._spans[draft.span].append(draft.event)
            self._joined(draft)

    @property
    def lease(self) -> float:
        return self.ownership.lease

    def confirm(self) -> Awaitable[None]:
        return self.ownership.confirm()

    def of(self, span: str) -> Sequence[Event]:
        """What happened in a span so far, in this and in earlier activations of the run."""
        return tuple(self._spans.get(span, ()))

    def below(self, span: str) -> Iterator[tuple[str, Event]]:
        """What happened in a span and in all below it, each with its place."""
        for at, events in self._spans.items():
            if is_within(at, span):
                yield from ((at, event) for event in events)

    def began(self, span: str) -> str:
        """When a span would have begun had the run never been parked: waiting for a person uses up no `wall`,
        nor does lying there until somebody forks it.
        Empty if nothing happened there yet."""
        inside = (n for n, draft in enumerate(self.drafts) if is_within(draft.span, span))
        since = self.drafts[next(inside, len(self.drafts)) :]
        if not since:
            return ""
        moments = [datetime.fromisoformat(ts) for ts in (*(draft.ts for draft in since), self._clock.now())]
        follows = [*(draft.event for draft in since[1:]), None]
        rests = (
            later - rested
            for draft, after, rested, later in zip(since, follows, moments, moments[1:], strict=False)
            if isinstance(draft.event, RunParked) or isinstance(after, RunForked)
        )
        return (moments[0] + sum(rests, timedelta())).isoformat()

    def note(self, place: Place, event: Event) -> Event:
        """The event as it is recorded: whoever folds it must fold that."""
        if self.redact:
            event = self.redact(event)
        span = place.span
        conversation = place.conversation or self._conversations.get(span, "")
        draft = Draft(
            self._clock.now(),
            event,
            place.session,
            span,
            place.agent,
            self.work_session,
            conversation,
            self._epoch,
        )
        if conversation:
            self._joined(draft)
        self._pending.append(draft)
        self._spans[span].append(event)
        self.drafts.append(draft)
        self.tell(span, event)
        return event

    @property
    def _epoch(self) -> int:
        """0 for the first."""
        expected = self._expected
        return expected.number if isinstance(expected, Epoch) and expected.number > 1 else 0

    def _joined(self, draft: Draft) -> None:
        if draft.conversation_id and isinstance(draft.event, SessionStarted):
            self._conversations[draft.span] = draft.conversation_id

    def watch(self, fold: Fold) -> None:
        """Tell it of the events that it takes, and of no others."""
        for event in fold.takes:
            self._folds[event].append(fold.fold)

    def tell(self, span: str, event: Event) -> None:
        """Everybody who watches; also of what an earlier activation noted."""
        if folds := self._folds.get(type(event)):
            for fold in folds:
                fold(span, event)
        for watcher in self.watchers:
            watcher(span, event)

    def once(self, place: Place, event: Event) -> None:
        """Note what an earlier activation may have noted already."""
        recorded = self.redact(event) if self.redact else event
        if recorded not in self._spans.get(place.span, ()):
            self.note(place, event)

    async def settle(self) -> None:
        """Return when everything noted so far is durable. Whoever acts on it waits for this first."""
        if self._branches > 1:
            await asyncio.sleep(0)  # the others of this moment note theirs: one commit for all of them
        self.flush()
        if self._pending:  # held back until the run exists
            await self._durable()
            self.flush()
        await self._durable()

    async def _durable(self) -> None:
        if written := self._written:
            # Shielded, because cancelling one waiter must not cancel what all the others wait for.
            await asyncio.shield(written)
            self._acknowledged(written)
        if self.lost:
            raise self.lost

    async def together(self, works: Iterable[Awaitable[T]]) -> list[T]:
        """Let every one come to its end before the first failure is passed on: nothing runs unattended.

        What one of them noted at its end is written while the others go on.
        """
        tasks = [asyncio.ensure_future(work) for work in works]
        self._branches += len(tasks)
        for task in tasks:
            task.add_done_callback(self._branch_ended)
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        for end in ended:
            if isinstance(end, BaseException):
                raise end
        return cast(list[T], ended)

    def _branch_ended(self, _: object) -> None:
        self._branches -= 1
        self.write_soon()

    def write_soon(self) -> None:
        """Nobody waits for it, so what comes in the next moment may be written along with it."""
        if self._pending and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SOON, self.flush)

    def flush(self) -> None:
        """Hand over what is pending; while the run is being created, nothing may overtake a refusal."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if not self._pending or self._creating or self.lost:
            return
        drafts, self._pending = self._pending, []
        self._creating = isinstance(self._expected, NewRun)
        self._written = self._journal.append(self._run, self._expected, drafts)
        if self._written.done():
            self._acknowledged(self._written)
        else:
            self._written.add_done_callback(self._acknowledged)

    def close(self, why: BaseException) -> None:
        """Write what was noted so far, and nothing that is noted from here on."""
        self.flush()
        self._lose(why)

    def _lose(self, why: BaseException) -> None:
        if self.lost is None:
            self.lost = why
            # Not at once: this may be called by the very task that is to be stopped.
            asyncio.get_running_loop().call_soon(self.when_lost)

    def _acknowledged(self, written: asyncio.Future[Sequence[Entry]]) -> None:
        """Learn how an append ended, from whoever comes first: one that waits, or the future itself."""
        if not written.cancelled() and (error := written.exception()):
            self._lose(error)
        elif self._creating:
            self._creating, self._expected = False, Epoch(number=1)
            self.flush()
