"""What is recorded of one run, and what is folded from it: which sessions are open, what they have read, which results
a claim may cite, and which finished children are kept to be asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import ClassVar

import msgspec

from folkmoot.domain.call_events import CacheHit, ClarificationAsked, SessionDestroyed, SessionFrozen
from folkmoot.domain.entry import Draft, Event
from folkmoot.domain.events import (
    RUN_ENDS,
    SESSION_ENDS,
    RunBound,
    RunForked,
    RunParked,
    RunRepinned,
    RunStarted,
    SessionStarted,
    ToolFailed,
    ToolFinished,
)
from folkmoot.domain.evidence import Minted, minted
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.sources import Source, Sources, joined
from folkmoot.domain.spans import caller, conversation, is_within, steps_below
from folkmoot.orchestration.runtime_tools import clarification_tool


class RunHistory(list[Draft]):
    """The entries of a run in their order, from its beginning.

    `RunHistory(drafts).is_over`; the log of a run that is under way has one that grows.
    """

    @property
    def started(self) -> RunStarted:
        event = self[0].event
        assert isinstance(event, RunStarted), "a run that was not pruned begins with its start"
        return event

    @property
    def last(self) -> Event:
        return self[-1].event

    @property
    def is_over(self) -> bool:
        return isinstance(self.last, RUN_ENDS)

    @property
    def is_parked(self) -> bool:
        return isinstance(self.last, RunParked)

    @property
    def is_forked(self) -> bool:
        """Whether it began as another run did."""
        return self.has(RunForked)

    @property
    def pins(self) -> list[RunStarted | RunRepinned]:
        """What the run was pinned to, the present pin last."""
        return [draft.event for draft in self if isinstance(draft.event, RunStarted | RunRepinned)]

    @property
    def label(self) -> str:
        """Of the place where the run's working folder is; empty if it has used none."""
        return next((draft.event.label for draft in self if isinstance(draft.event, RunBound)), "")

    @property
    def ended_sessions(self) -> set[str]:
        return {draft.session_id for draft in self if isinstance(draft.event, SESSION_ENDS)}

    @property
    def open_sessions(self) -> list[Draft]:
        """The beginnings of those that have not ended."""
        ended = self.ended_sessions
        begun = (draft for draft in self if isinstance(draft.event, SessionStarted))
        return [draft for draft in begun if draft.session_id not in ended]

    def has(self, *events: type[Event]) -> bool:
        return any(isinstance(draft.event, events) for draft in self)


class ReadSources:
    """Everything that was read that nobody vouches for or that must not get out, with where; what an agent says is
    based on all that was read below its span."""

    takes: ClassVar[tuple[type[Event], ...]] = (SessionStarted, ToolFinished, ToolFailed, CacheHit)

    def __init__(self) -> None:
        self._read: list[tuple[str, Sources]] = []

    def fold(self, span: str, event: Event) -> None:
        if isinstance(event, SessionStarted | ToolFinished | ToolFailed | CacheHit) and event.sources:
            where = event.span if isinstance(event, CacheHit) else span
            self._read.append((f"{where}/", event.sources))

    def within(self, *spans: str, outside: str = "") -> Sources:
        """In these spans and below them, but not in nor below `outside`."""
        inside, left_out = tuple(f"{span}/" for span in spans), f"{outside}/"
        found = ((span, read) for span, read in self._read if span.startswith(inside))
        return joined(*(read for span, read in found if not (outside and span.startswith(left_out))))


class EvidenceLedger:
    """The results that a claim may cite, by their ids."""

    takes: ClassVar[tuple[type[Event], ...]] = (ToolFinished,)

    def __init__(self) -> None:
        self.results: dict[str, Minted] = {}

    def fold(self, span: str, event: Event) -> None:
        if isinstance(event, ToolFinished):
            self.results[event.evidence] = minted(span, event)


class FollowUpSession(msgspec.Struct, eq=False):
    """One conversation that can be taken up again."""

    session: str
    """Its first session; the id under which it is asked."""
    agent: str
    holder: str
    """The span of the conversation that may ask it."""
    spans: list[str]
    """Where it was held so far: its first span, then one for each clarification."""
    turns_after_report: int
    """What was left of its turns when it was frozen."""
    live: bool = True
    floor: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    """One question at a time: each answer knows the one before."""


class FollowUpSessions:
    """Finished children that are kept to be asked again. Who asks is known by the span of its conversation: the same in
    each cycle of a team and in each clarification."""

    takes: ClassVar[tuple[type[Event], ...]] = (SessionFrozen, ClarificationAsked, SessionDestroyed)

    def __init__(self) -> None:
        self._chats: dict[str, FollowUpSession] = {}

    def fold(self, span: str, event: Event) -> None:
        match event:
            case SessionFrozen():
                self._chats[event.session] = FollowUpSession(
                    event.session, event.agent, caller(span), [span], event.turns_remaining
                )
            case ClarificationAsked():
                self._chats[event.child].spans.append(span)
            case SessionDestroyed():
                self._chats[event.session].live = False

    def find(self, asker: str, named: str) -> FollowUpSession | None:
        """Whom the session at a span means: by its own id, or by its agent's while only one of that agent is kept."""
        holder = conversation(asker)
        own = [chat for chat in self._chats.values() if chat.holder == holder]
        of_agent = [chat for chat in own if chat.agent == named]
        live = [chat for chat in of_agent if chat.live]
        for meant in ([chat for chat in own if chat.session == named], live, of_agent):
            if len(meant) == 1:
                return meant[0]
        return None

    def get(self, session: str) -> FollowUpSession | None:
        """A chat by its own id, live or not."""
        return self._chats.get(session)

    def held_by(self, span: str) -> list[FollowUpSession]:
        """The live ones that the session at this span may ask, in the order of their places in the run."""
        if not self._chats:
            return []
        holder = conversation(span)
        held = (chat for chat in self._chats.values() if chat.live and chat.holder == holder)
        return sorted(held, key=lambda chat: chat.spans[0])

    def held_in(self, span: str) -> list[FollowUpSession]:
        """Those that an agent may ask, and if it is a team, those that its members may ask, and theirs."""
        members = {
            chat.holder
            for chat in self._chats.values()
            if chat.holder != span
            and is_within(chat.holder, span)
            and all(kind == "member" for kind, _ in steps_below(chat.holder, span))
        }
        return [chat for holder in (span, *sorted(members)) for chat in self.held_by(holder)]

    def offers(self, span: str) -> tuple[ToolSpec, ...]:
        """The tool that asks them back; none while there is nobody to ask."""
        held = self.held_by(span)
        return (clarification_tool(tuple(chat.session for chat in held)),) if held else ()


def find_legacy_sources(drafts: Iterable[Draft], above: str, span: str, tools: frozenset[str]) -> Sources:
    """What one of these tools gave below a span before another began there. For runs of 0.1.0, which recorded no
    sources: resumed and replayed, they decide as they did."""
    inside = f"{above}/"
    for draft in drafts:
        event = draft.event
        if draft.span == span and isinstance(event, SessionStarted):
            return ()
        if draft.span.startswith(inside) and isinstance(event, ToolFinished) and event.tool in tools:
            return (Source(f"what {event.tool} gave in turn {event.turn}"),)
    return ()
