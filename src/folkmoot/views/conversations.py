"""What agents said to each other, as threads with turns: a fold over the events of messages.

Only what main agents wrote to each other is a conversation. What agents do for others is not, and what no runtime
marked as one is not either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from folkmoot.domain.entry import Draft, role
from folkmoot.domain.team_events import A2aResponse, A2aSend, A2aSpawn, GuardLoopBlocked

EVENTS = (A2aSend.type, A2aSpawn.type, A2aResponse.type, GuardLoopBlocked.type)
"""What a thread is made of."""
_GOAL = re.compile(r"\[Goal\]:?[ \t]*(\S.*)")
_TITLE = 80


class Turn(msgspec.Struct, rename="camel"):
    """One message and what came of it."""

    from_agent: str
    to_agent: str
    message: str
    at: str
    run_id: str
    session_id: str
    """In which the receiver read it."""
    label: str = ""
    work_session_id: str = ""
    channel: str = "a2a"
    outcome: Literal["open", "replied", "blocked"] = "open"
    reply: str = ""
    error: str = ""
    answered_at: str | None = None


class Conversation(msgspec.Struct, rename="camel"):
    conversation_id: str
    title: str
    started_at: str
    last_at: str
    participants: list[str] = []
    turns: list[Turn] = []


class Conversations:
    """All threads so far, by their ids, in the order in which they began."""

    def __init__(self, *, delegated: bool = False) -> None:
        """`delegated`: with what agents had others do for them."""
        self.threads: dict[str, Conversation] = {}
        self._delegated = delegated
        self._turns: dict[str, Turn] = {}
        """By the session of the receiver."""

    def take(self, draft: Draft) -> Turn | None:
        """Fold one more event; the turn that it began or ended, if it is part of a thread."""
        if isinstance(draft.event, GuardLoopBlocked):
            return self._dropped(draft, draft.event)
        if not self._delegated and role(draft) != "conversation.main":
            return None
        match draft.event:
            case A2aSend() | A2aSpawn() as sent:
                return self._begin(draft, sent)
            case A2aResponse() as response if turn := self._turns.get(response.target_session_key):
                turn.outcome, turn.reply, turn.error = (
                    response.outcome,
                    response.reply_preview,
                    response.error,
                )
                turn.answered_at = self.threads[response.conversation_id].last_at = draft.ts
                return turn
            case _:
                return None

    def _dropped(self, draft: Draft, kept: GuardLoopBlocked) -> Turn | None:
        """A message that was not delivered, but kept."""
        thread = self.threads.get(kept.conversation_id)
        if not kept.message or thread is None:
            return None
        turn = _turn(draft, kept, thread.turns[0].run_id, draft.session_id, draft.work_session_id)
        turn.outcome, turn.error = "blocked", f"not delivered: {kept.reason}"
        thread.turns.append(turn)
        thread.last_at = draft.ts
        return turn

    def _begin(self, draft: Draft, sent: A2aSend | A2aSpawn) -> Turn:
        turn = _turn(draft, sent, sent.run_id, sent.target_session_key, sent.work_session_id)
        turn.label, turn.channel = sent.label, sent.channel
        title = _title(sent.label, sent.message)
        new = Conversation(sent.conversation_id, title, started_at=draft.ts, last_at=draft.ts)
        thread = self.threads.setdefault(sent.conversation_id, new)
        thread.last_at = draft.ts
        thread.turns.append(turn)
        thread.participants += [
            agent for agent in (turn.from_agent, turn.to_agent) if agent not in thread.participants
        ]
        self._turns[turn.session_id] = turn
        return turn


def conversations(drafts: Iterable[Draft], *, delegated: bool = False) -> dict[str, Conversation]:
    found = Conversations(delegated=delegated)
    for draft in drafts:
        found.take(draft)
    return found.threads


def _turn(
    draft: Draft, sent: A2aSend | A2aSpawn | GuardLoopBlocked, run: str, session: str, work_session: str
) -> Turn:
    turn = Turn(sent.from_agent, sent.to_agent, sent.message, draft.ts, run, session)
    turn.work_session_id = work_session
    return turn


def _title(label: str, text: str) -> str:
    """What people called it, what its goal is said to be, or how it begins."""
    goal = _GOAL.search(text)
    line = label or (goal[1] if goal else text.strip().partition("\n")[0])
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"
