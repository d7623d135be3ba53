"""The list of conversations: each thread with its one-line title, who takes part, and what the work is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from folkmoot.domain.category import CATEGORIES, LABELS, CategoryId
from folkmoot.domain.duration import seconds_between
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import ARCHIVED_AFTER, Activity
from folkmoot.views.conversations import Conversation
from folkmoot.views.work_sessions import WorkRow, category_of, subtitle, title

GROUPS: Mapping[Activity, str] = {"ACTIVE": "Active", "QUIET": "Quiet", "ARCHIVED": "Archived"}


class ThreadRow(Value, omit_defaults=False):
    id: str
    title: str
    subtitle: str
    """Who takes part, when something was said last, and how long ago that is."""
    status: Activity
    category: CategoryId
    category_label: str
    category_source: str
    confidence: float
    sub_tags: tuple[str, ...]
    work_session: str
    """Whose category it has."""
    last_at: str
    thread: Conversation


class Wanted(Value):
    """Which threads a list shows."""

    category: str = ""
    text: str = ""


Works = Callable[[str], WorkRow | None]
"""Knows work sessions by their ids."""


def thread_rows(threads: Iterable[Conversation], work: Works, now: str) -> list[ThreadRow]:
    rows = [_row(thread, work, now) for thread in threads]
    return sorted(rows, key=lambda row: row.last_at, reverse=True)


def chosen(rows: Iterable[ThreadRow], wanted: Wanted) -> list[ThreadRow]:
    text = wanted.text.casefold()
    return [
        row for row in rows if wanted.category in ("", row.category) and (not text or text in _searched(row))
    ]


def counts(rows: Iterable[ThreadRow]) -> list[tuple[CategoryId, str, int]]:
    """Id, label and number of each category that occurs, in the order of all ten."""
    found = [row.category for row in rows]
    return [(id, LABELS[id], found.count(id)) for id in CATEGORIES if id in found]


def _row(thread: Conversation, work: Works, now: str) -> ThreadRow:
    session = next((turn.work_session_id for turn in thread.turns if turn.work_session_id), "")
    label = next((turn.label for turn in thread.turns if turn.label), "")
    texts = [turn.message for turn in thread.turns]
    about = work(session) or category_of(label, texts, ("conversation.main",))
    return ThreadRow(
        id=thread.conversation_id,
        title=title(label, texts),
        subtitle=subtitle(thread.participants, thread.last_at, now),
        status=_activity(thread, now),
        category=about.category,
        category_label=LABELS[about.category],
        category_source=about.category_source,
        confidence=about.confidence,
        sub_tags=about.sub_tags,
        work_session=session,
        last_at=thread.last_at,
        thread=thread,
    )


def _activity(thread: Conversation, now: str) -> Activity:
    if seconds_between(thread.last_at, now) > ARCHIVED_AFTER:
        return "ARCHIVED"
    return "ACTIVE" if any(turn.outcome == "open" for turn in thread.turns) else "QUIET"


def _searched(row: ThreadRow) -> str:
    said = (text for turn in row.thread.turns for text in (turn.message, turn.reply))
    return "\n".join((row.title, *row.thread.participants, *said)).casefold()
