"""Finished children that are kept to be asked again: who they are, and who may ask them.

Folded from the run's events like the ledger, so that a resumed run knows the same ones.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import lru_cache

from folkmoot.domain.chat_events import ClarificationAsked, SessionDestroyed, SessionFrozen
from folkmoot.domain.event import Event
from folkmoot.domain.message import ToolSpec

ASK_CLARIFICATION = "agent__ask_clarification"


@dataclass(slots=True, eq=False)
class Chat:
    """One conversation that can be taken up again."""

    session: str
    """Its first session; the id under which it is asked."""
    agent: str
    holder: str
    """The conversation that may ask it, by its first session."""
    spans: list[str]
    """Where it was held so far: its first span, then one for each clarification."""
    turns_after_report: int
    """What was left of its turns when it was frozen."""
    live: bool = True
    floor: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One question at a time: each answer knows the one before."""


class Chats:
    def __init__(self) -> None:
        self._chats: dict[str, Chat] = {}
        self._conversations: dict[str, str] = {}
        """The first session of the conversation that a clarification goes on with."""

    def fold(self, span: str, event: Event) -> None:
        match event:
            case SessionFrozen():
                holder = self.conversation(event.parent)
                self._chats[event.session] = Chat(
                    event.session, event.agent, holder, [span], event.turns_remaining
                )
            case ClarificationAsked():
                self._chats[event.child].spans.append(span)
                self._conversations[event.clarification] = event.child
            case SessionDestroyed():
                self._chats[event.session].live = False

    def conversation(self, session: str) -> str:
        """A conversation is named after its first session, in whichever of its sessions it is now."""
        return self._conversations.get(session, session)

    def find(self, asker: str, named: str) -> Chat | None:
        """Whom a session means: by its own id, or by its agent's while only one of that agent is kept."""
        holder = self.conversation(asker)
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

    def held_by(self, session: str) -> list[Chat]:
        """The live ones that this session may ask, in the order of their places in the run."""
        if not self._chats:
            return []
        holder = self.conversation(session)
        held = (chat for chat in self._chats.values() if chat.live and chat.holder == holder)
        return sorted(held, key=lambda chat: chat.spans[0])

    def offers(self, session: str) -> tuple[ToolSpec, ...]:
        """The tool that asks them back; none while there is nobody to ask."""
        held = self.held_by(session)
        return (ask_tool(tuple(chat.session for chat in held)),) if held else ()


@lru_cache(maxsize=256)
def ask_tool(ids: tuple[str, ...]) -> ToolSpec:
    """The same object for the same children, so that it is encoded once."""
    return ToolSpec(
        name=ASK_CLARIFICATION,
        description="Ask an agent that has answered you a question about its answer. It remembers what it did.",
        parameters={
            "type": "object",
            "properties": {
                "child_id": {"type": "string", "enum": list(ids)},
                "question": {"type": "string", "minLength": 1},
            },
            "required": ["child_id", "question"],
            "additionalProperties": False,
        },
        effect="pure",
        access="read",
        patient=True,
    )
