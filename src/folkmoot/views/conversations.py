"""Conversations: threads of messages between agents, their list on the page, and chats of a person with an agent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from folkmoot.domain.category import CATEGORIES, LABELS, Category, CategoryId
from folkmoot.domain.duration import seconds_between
from folkmoot.domain.entry import Draft, role
from folkmoot.domain.errand import Block
from folkmoot.domain.events import RunStarted, ToolStarted
from folkmoot.domain.sources import Sources
from folkmoot.domain.team_events import (
    A2aResponse,
    A2aSend,
    A2aSpawn,
    GuardLoopBlocked,
)
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import ARCHIVED_AFTER, Activity
from folkmoot.views.result import Result
from folkmoot.views.work_sessions import WorkRow, category_of, subtitle, title

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
        turn = Turn(
            kept.from_agent, kept.to_agent, kept.message, draft.ts, thread.turns[0].run_id, draft.session_id
        )
        turn.work_session_id = draft.work_session_id
        turn.outcome, turn.error = "blocked", f"not delivered: {kept.reason}"
        thread.turns.append(turn)
        thread.last_at = draft.ts
        return turn

    def _begin(self, draft: Draft, sent: A2aSend | A2aSpawn) -> Turn:
        turn = Turn(
            sent.from_agent, sent.to_agent, sent.message, draft.ts, sent.run_id, sent.target_session_key
        )
        turn.label, turn.channel, turn.work_session_id = sent.label, sent.channel, sent.work_session_id
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


def _title(label: str, text: str) -> str:
    """What people called it, what its goal is said to be, or how it begins."""
    goal = _GOAL.search(text)
    line = label or (goal[1] if goal else text.strip().partition("\n")[0])
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"


GROUPS: Mapping[Activity, str] = {"ACTIVE": "Active", "QUIET": "Quiet", "ARCHIVED": "Archived"}


class ThreadRow(NamedTuple):
    id: str
    title: str
    subtitle: str
    """Who takes part, when something was said last, and how long ago that is."""
    status: Activity
    about: WorkRow | Category
    """The category: of its work session, if it has one."""
    work_session: str
    thread: Conversation


class Wanted(Value):
    """Which threads a list shows."""

    category: str = ""
    text: str = ""


Works = Callable[[str], WorkRow | None]
"""Knows work sessions by their ids."""


def thread_rows(threads: Iterable[Conversation], work: Works, now: str) -> list[ThreadRow]:
    """Where something was said last first."""
    latest = sorted(threads, key=lambda thread: thread.last_at, reverse=True)
    return [_row(thread, work, now) for thread in latest]


def chosen(rows: Iterable[ThreadRow], wanted: Wanted) -> list[ThreadRow]:
    text = wanted.text.casefold()
    fitting = (row for row in rows if wanted.category in ("", row.about.category))
    return [row for row in fitting if not text or text in _searched(row)]


def counts(rows: Iterable[ThreadRow]) -> list[tuple[CategoryId, str, int]]:
    """Id, label and number of each category that occurs, in the order of all ten."""
    found = [row.about.category for row in rows]
    return [(id, LABELS[id], found.count(id)) for id in CATEGORIES if id in found]


def _row(thread: Conversation, work: Works, now: str) -> ThreadRow:
    session = next((turn.work_session_id for turn in thread.turns if turn.work_session_id), "")
    label = next((turn.label for turn in thread.turns if turn.label), "")
    texts = [turn.message for turn in thread.turns]
    about = work(session) or category_of(label, texts, ("conversation.main",))
    said = subtitle(thread.participants, thread.last_at, now)
    named, status = title(label, texts), _activity(thread, now)
    return ThreadRow(thread.conversation_id, named, said, status, about, session, thread)


def _activity(thread: Conversation, now: str) -> Activity:
    if seconds_between(thread.last_at, now) > ARCHIVED_AFTER:
        return "ARCHIVED"
    return "ACTIVE" if any(turn.outcome == "open" for turn in thread.turns) else "QUIET"


def _searched(row: ThreadRow) -> str:
    said = (text for turn in row.thread.turns for text in (turn.message, turn.reply))
    return "\n".join((row.title, *row.thread.participants, *said)).casefold()


REMEMBERED = 20
"""Exchanges that an agent is told again with the next request."""


class Exchange(Value):
    run_id: str
    agent: str
    """The file of the agent that was asked."""
    answered_by: str
    request: str
    at: str
    status: str
    answer: str = ""
    error: str = ""
    tools: tuple[str, ...] = ()
    """What was called for it, by name, each once."""
    waiting: tuple[str, ...] = ()
    """The ids of what it waits for someone to say."""
    sources: Sources = ()
    """What was read for the answer."""

    @property
    def under_way(self) -> bool:
        return self.status in ("running", "queued")


def exchange(run_id: str, drafts: Sequence[Draft], unended: str) -> Exchange | None:
    """`unended` is what the run is as long as it has no end; None if nothing is left of it."""
    started = next((draft for draft in drafts if isinstance(draft.event, RunStarted)), None)
    if started is None or not isinstance(started.event, RunStarted):
        return None
    result = Result(run_id, drafts, unended=unended)
    tools = dict.fromkeys(draft.event.tool for draft in drafts if isinstance(draft.event, ToolStarted))
    return Exchange(
        run_id,
        started.event.agent,
        answered_by=result.final_agent_id or started.agent_id,
        request=started.event.request,
        at=started.ts,
        status=result.status,
        answer=result.final_report.content if result.final_report else "",
        error=result.error or "",
        tools=tuple(tools),
        waiting=tuple(item.id for item in result.inbox if item.is_open),
        sources=result.sources,
    )


def said_before(exchanges: Iterable[Exchange]) -> tuple[Block, ...]:
    """What an agent reads of a conversation that goes on."""
    blocks: list[Block] = []
    for each in list(exchanges)[-REMEMBERED:]:
        blocks.append(Block("earlier_request", each.request))
        if each.answer:
            blocks.append(Block("earlier_answer", each.answer, each.answered_by, sources=each.sources))
    return tuple(blocks)
