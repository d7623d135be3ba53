"""The inbox of a run that is under way: what waits for someone, who is asked, and where the answer goes.

An answer becomes an event at the place of whoever asked, and wakes that branch alone. The first one counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import ClassVar

import msgspec

from folkmoot.domain.duration import seconds_between
from folkmoot.domain.entry import Event
from folkmoot.domain.inbox import Item, Reply, decided, inbox
from folkmoot.domain.inbox_events import (
    ApprovalApproved,
    ApprovalExpired,
    ApprovalRequested,
    ApprovalRevoked,
    ClientAnswered,
    ClientCalled,
    QuestionAsked,
)
from folkmoot.domain.message import ToolCall, ToolResult
from folkmoot.domain.naming import draw
from folkmoot.orchestration.log import Place, RunLog
from folkmoot.orchestration.runtime_tools import read_question
from folkmoot.ports import Clock, Site
from folkmoot.session.steps import Parked

PATIENCE = 100
"""Rounds of the event loop in which nothing works before the run counts as waiting: so many may lie between
the end of one work and the beginning of the next."""


class IdleMonitor:
    """`with room:` stands around whatever does not wait: as long as that lasts, the run does more than wait."""

    def __init__(self, *, stay: bool = False) -> None:
        self._stay = stay
        """Never give up: somebody will answer while the process waits."""
        self._working = 0
        self._waiting: dict[asyncio.Future[None], str] = {}
        self._looking = False
        self._closed = False
        self.given_up: set[str] = set()
        """What nobody waits for any more, because everything that was left waited."""

    def __enter__(self) -> None:
        self._working += 1

    def __exit__(self, *_: object) -> None:
        self._working -= 1
        self._look()

    def close(self) -> None:
        """From here on nothing new may begin; those who wait do so only as long as others work."""
        self._closed = True
        self._look()

    def begin(self) -> None:
        """Stands before everything that is new. Raises `Parked` if the room was closed."""
        if self._closed:
            raise Parked(())

    async def wait(self, id: str) -> None:
        """Return when `tell` is called with this id; raises `Parked` when all that is left of the run waits."""
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[told] = id
        self._look()
        try:
            await told
        finally:
            self._waiting.pop(told, None)
            self._look()

    def tell(self, id: str) -> None:
        for told, awaited in self._waiting.items():
            if awaited == id and not told.done():
                told.set_result(None)

    @property
    def _only_waits(self) -> bool:
        waiting = [told for told in self._waiting if not told.done()]
        return bool(waiting) and not self._working and (self._closed or not self._stay)

    def _look(self) -> None:
        if self._waiting and self._only_waits and not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_soon(self._look_again, PATIENCE)

    def _look_again(self, rounds: int) -> None:
        if not self._only_waits:
            self._looking = False
        elif rounds:
            asyncio.get_running_loop().call_soon(self._look_again, rounds - 1)
        else:
            self._looking = False
            self._give_up()

    def _give_up(self) -> None:
        for told, id in self._waiting.items():
            if not told.done():
                self.given_up.add(id)
                told.set_exception(Parked((id,)))


ItemHandler = Callable[[Item], Awaitable[Reply | None]]
"""Somebody who is there now. None: they do not want to say anything yet."""

NOBODY = "approval_timeout"
EXPIRED = "approval_expired"


class InboxOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Who is there while a run runs."""

    answer: ItemHandler | None = None
    stay: bool = False
    """Wait for what others leave in the inbox, however long it takes, instead of parking."""


class Grants:
    """The calls that somebody allowed for the whole run, folded from its events."""

    takes: ClassVar[tuple[type[Event], ...]] = (ApprovalRequested, ApprovalApproved, ApprovalRevoked)

    def __init__(self) -> None:
        self.granted: dict[str, str] = {}
        """By hash: the approval, and who gave it."""
        self._asked: dict[str, str] = {}

    def fold(self, span: str, event: Event) -> None:
        match event:
            case ApprovalRequested(id=id, hash=hash):
                self._asked[id] = hash
            case ApprovalApproved(id=id, by=by, scope="run"):
                self.granted[self._asked[id]] = f"{id} by {by}" if by else id
            case ApprovalRevoked(id=id):
                self.granted.pop(self._asked[id], None)


class Inbox:
    def __init__(
        self,
        run: str,
        log: RunLog,
        attendance: InboxOptions,
        *,
        deny: bool,
        clock: Clock | None = None,
        patience: float | None = None,
    ) -> None:
        """`clock` tells when something has waited long enough; without one, somebody else does. `patience` is how many
        seconds a call of a tool of the caller waits."""
        self._run = run
        self._log = log
        self._answer = attendance.answer
        self.room = IdleMonitor(stay=attendance.stay)
        self._denies = deny and not attendance.answer and not attendance.stay
        """Nobody is there, and the project wants that taken for a no."""
        self._sessions: dict[str, Callable[[Event], None]] = {}
        self._one_by_one = asyncio.Lock()
        self._unwilling: set[str] = set()
        """What the answerer left for later."""
        self._clock = clock
        self._patience = patience
        self.when_overdue: Callable[[str], None] = lambda reason: None
        """Told why the run is not to go on: its caller does not bring what it waits for."""
        self.grants = Grants()
        log.watch(self.grants)

    @property
    def items(self) -> dict[str, Item]:
        return inbox(self._run, self._log.drafts)

    @property
    def open_ids(self) -> tuple[str, ...]:
        return tuple(item.id for item in self.items.values() if item.is_open)

    @property
    def until(self) -> str:
        """When the first thing that is open has waited long enough; empty if none ever has."""
        return min((item.until for item in self.items.values() if item.is_open and item.until), default="")

    @property
    def missed(self) -> bool:
        """Whether something was answered after its branch had given up."""
        return not self.room.given_up <= {*self.open_ids}

    def close(self) -> None:
        """Begin nothing new: the run goes on elsewhere."""
        self.room.close()

    @contextmanager
    def attended(self, span: str, happen: Callable[[Event], None]) -> Iterator[None]:
        """As long as a session runs, what is said to it happens to it."""
        self._sessions[span] = happen
        try:
            yield
        finally:
            del self._sessions[span]

    def take(self, reply: Reply) -> None:
        """Let an answer happen. Raises `WrongUse` if nothing waits for it."""
        item = self.items.get(reply.id)
        event = decided(item, reply)
        assert item is not None
        self.happen(item, event)

    async def answered(self, id: str) -> None:
        """Return when an item was decided, or raise `Parked`."""
        self._log.flush()  # whoever looks into the journal now shall see it
        item = self.items[id]
        if self._denies and item.kind == "approval":
            self.happen(item, ApprovalExpired(id=id, reason=NOBODY, unattended=True))
        elif item.until and self._clock:
            await self._answered_in_time(item, self._clock)
        else:
            await self._answered(item)

    async def _answered_in_time(self, item: Item, clock: Clock) -> None:
        left = seconds_between(clock.now(), item.until)
        with suppress(TimeoutError):
            if left:
                await clock.within(left, self._answered(item))
        if not self.items[item.id].is_open or clock.now() < item.until:
            return
        if item.kind == "client_call":
            self.when_overdue(f"its client did not bring the result of {item.tool} until {item.until}")
            await self.room.wait(item.id)
        else:
            self.happen(item, ApprovalExpired(item.id, f"{EXPIRED}: nobody decided until {item.until}"))

    async def _answered(self, item: Item) -> None:
        if self._answer and item.id not in self._unwilling:
            await self._asked_or_answered(item, self._answer)
        else:
            await self.room.wait(item.id)

    async def ask(self, place: Place, call: ToolCall, site: Site, seed: str) -> ToolResult:
        """The tool `ask_user`: its result is what a person answers."""
        question = read_question(call)
        id = "q_" + draw(seed, site.below, "question")
        self._log.once(place, QuestionAsked(id, question, site.turn, site.call))
        if self._denies and self.items[id].is_open:
            return ToolResult(f"{NOBODY}: nobody is there to answer", failed=True, code="unattended")
        return ToolResult(text=(await self._decided(id)).text)

    async def ask_caller(self, place: Place, call: ToolCall, site: Site, seed: str) -> ToolResult:
        """A tool that the caller of the run brought along: its result is what the caller says."""
        id = "call_" + draw(seed, site.key, "client")  # of this run, not of a fork that begins as it did
        if id not in self.items:  # by name: how long it may wait can be another by now
            called = ClientCalled(id, site.turn, site.call, call.tool, call.arguments, self._patience)
            self._log.note(place, called)
        said = await self._decided(id)
        events = (draft.event for draft in self._log.drafts)
        parts = (event.parts for event in events if isinstance(event, ClientAnswered) and event.id == id)
        return ToolResult(text=said.text, failed=said.status == "failed", parts=next(parts, ()))

    async def _decided(self, id: str) -> Item:
        while self.items[id].is_open:
            await self.answered(id)
        return self.items[id]

    async def _asked_or_answered(self, item: Item, answer: ItemHandler) -> None:
        """Ask whoever is there, one thing at a time, until they or anybody else said something."""
        asking = asyncio.ensure_future(self._asked(item, answer))
        waiting = asyncio.ensure_future(self.room.wait(item.id))
        try:
            await asyncio.wait({asking, waiting}, return_when=asyncio.FIRST_COMPLETED)
            for done in (asking, waiting):
                if done.done():
                    done.result()
        finally:
            asking.cancel()
            waiting.cancel()
            await asyncio.gather(asking, waiting, return_exceptions=True)

    async def _asked(self, item: Item, answer: ItemHandler) -> None:
        with self.room:
            async with self._one_by_one:
                reply = await answer(item)
            if reply is None:
                self._unwilling.add(item.id)
                return
            clock = self._clock
            if clock and reply.word == "retry" and item.retry_from > (now := clock.now()):
                await clock.sleep(seconds_between(now, item.retry_from))  # nobody need say it again
            self.take(reply)

    def happen(self, item: Item, event: Event) -> None:
        """Let what was decided about an item happen to whoever asked."""
        self.tell(Place(item.span, item.session, item.agent), event)
        self.room.tell(item.id)

    def tell(self, place: Place, event: Event) -> None:
        """Let something from outside happen to a session, whether it is under way or not."""
        if happen := self._sessions.get(place.span):
            happen(event)
        else:
            self._log.note(place, event)
        self._log.flush()
