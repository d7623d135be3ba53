"""Finished children that are kept to be asked again: who they are, and who may ask them.

Folded from the run's events like the ledger, so that a resumed run knows the same ones.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import ClassVar

import msgspec

from folkmoot.domain.call_events import ClarificationAsked, SessionDestroyed, SessionFrozen
from folkmoot.domain.entry import Event
from folkmoot.domain.message import ToolSpec
from folkmoot.domain.spans import caller, conversation, is_within, steps_below
from folkmoot.session.exits import runtime_tool

ASK_CLARIFICATION = "agent__ask_clarification"


class Chat(msgspec.Struct, eq=False):
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


class Chats:
    """Who asks is known by the span of its conversation: the same in each cycle of a team and in each clarification."""

    takes: ClassVar[tuple[type[Event], ...]] = (SessionFrozen, ClarificationAsked, SessionDestroyed)

    def __init__(self) -> None:
        self._chats: dict[str, Chat] = {}

    def fold(self, span: str, event: Event) -> None:
        match event:
            case SessionFrozen():
                self._chats[event.session] = Chat(
                    event.session, event.agent, caller(span), [span], event.turns_remaining
                )
            case ClarificationAsked():
                self._chats[event.child].spans.append(span)
            case SessionDestroyed():
                self._chats[event.session].live = False

    def find(self, asker: str, named: str) -> Chat | None:
        """Whom the session at a span means: by its own id, or by its agent's while only one of that agent is kept."""
        holder = conversation(asker)
        own = [chat for chat in self._chats.values() if chat.holder == holder]
        of_agent = [chat for chat in own if chat.agent == named]
        live = [chat for chat in of_agent if chat.live]
        for meant in ([chat for chat in own if chat.session == named], live, of_agent):
            if len(meant) == 1:
                return meant[0]
        return None

    def get(self, session: str) -> Chat | None:
        """A chat by its own id, live or not."""
        return self._chats.get(session)

    def held_by(self, span: str) -> list[Chat]:
        """The live ones that the session at this span may ask, in the order of their places in the run."""
        if not self._chats:
            return []
        holder = conversation(span)
        held = (chat for chat in self._chats.values() if chat.live and chat.holder == holder)
        return sorted(held, key=lambda chat: chat.spans[0])

    def held_in(self, span: str) -> list[Chat]:
        """Those that an agent may ask, and if it is a team, those that its members may ask, and theirs."""
        if not self._chats:
            return []
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
        return (ask_tool(tuple(chat.session for chat in held)),) if held else ()


@lru_cache(maxsize=256)
def ask_tool(ids: tuple[str, ...]) -> ToolSpec:
    """The same object for the same children, so that it is encoded once."""
    return runtime_tool(
        ASK_CLARIFICATION,
        "Ask an agent that has answered you a question about its answer. It remembers what it did.",
        {
            "child_id": {"type": "string", "enum": list(ids)},
            "question": {"type": "string", "minLength": 1},
        },
        ["child_id", "question"],
        patient=True,
    )
