"""The list of work sessions, folded from all events that name one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from folkmoot.domain.category import Category, CategoryId, classified
from folkmoot.domain.duration import seconds_between
from folkmoot.domain.entry import Draft, Entry, Event, Role, role
from folkmoot.domain.events import RunStarted
from folkmoot.domain.records import WORK_SESSION, RecordSources
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import Activity, WorkSession, WorkState, activity, counts
from folkmoot.views.timeline import TimelineEntry

TITLE = 80
"""Characters."""
_TEXTS = 5
"""Of each work session, the first: by them it is named and categorised."""
_SPEAKING = ("run.started", "work_session.opened", "task.", "a2a.", "decision.", "plan.")
_SAID = ("request", "goal", "description", "topic", "message", "title")
_GOAL = re.compile(r"\[goal\]:?[ \t]*\n?[ \t]*([^\n\[]+)", re.IGNORECASE)
_ROLES: tuple[Role, ...] = ("conversation.main", "delegation.subagent", "orchestration.task")
_NO_TITLE = ("", "work session")


class WorkRow(Value, omit_defaults=False):
    """One work session as a list shows it."""

    id: str
    title: str
    """In one line, what is being worked on."""
    subtitle: str
    """Who takes part, when something happened last, and how long ago that is."""
    status: Activity
    state: WorkState | None
    """None if it has no record of its own: it is nothing but its runs."""
    paused: bool
    category: CategoryId
    category_label: str
    category_source: str
    confidence: float
    sub_tags: tuple[str, ...]
    roles: tuple[Role, ...]
    """Of its events: each is for another view."""
    agents: tuple[str, ...]
    runs: tuple[str, ...]
    events: int
    started_at: str
    last_event_at: str
    previous: str | None = msgspec.field(default=None, name="previousWorkSessionId")


@dataclass
class _Gathered:
    """What is known of one work session so far."""

    first: Draft
    latest: Draft
    record: WorkSession | None = None
    label: str = ""
    texts: list[str] = field(default_factory=list)
    roles: dict[Role, None] = field(default_factory=dict)
    agents: dict[str, None] = field(default_factory=dict)
    runs: dict[str, None] = field(default_factory=dict)
    events: int = 0
    category: Category | None = None
    """If it was asked for since the last event."""


class WorkList:
    """A fold that takes the entries of the journal one by one."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._all: dict[str, _Gathered] = {}
        for entry in entries:
            self.take(entry)

    def take(self, entry: Entry) -> None:
        draft = entry.draft
        if not (id := draft.work_session_id):
            return
        known = self._all.setdefault(id, _Gathered(draft, draft))
        known.events += 1
        known.category = None
        known.roles[role(draft)] = None
        if draft.span:
            known.agents[draft.agent_id] = None
        if counts(draft):
            known.latest = draft
        if entry.stream == id and not isinstance(draft.event, RecordSources):
            known.record = WORK_SESSION.evolve(known.record, draft)
        if isinstance(draft.event, RunStarted):
            known.runs[entry.stream] = None
        known.label = _label(draft.event) or known.label
        if len(known.texts) < _TEXTS and (text := _text(draft.event)):
            known.texts.append(text)

    def rows(self, now: str) -> Iterator[WorkRow]:
        """All of them, where something happened last first; each is made when it is asked for."""
        latest = sorted(self._all.items(), key=lambda each: each[1].latest.ts, reverse=True)
        return (_row(id, known, now) for id, known in latest)

    def row(self, id: str, now: str) -> WorkRow | None:
        return _row(id, known, now) if (known := self._all.get(id)) else None

    def categories(self) -> dict[str, CategoryId]:
        """What each is about."""
        return {id: _category(known).category for id, known in self._all.items()}

    def statuses(self, now: str) -> Counter[str]:
        """How many there are in each."""
        return Counter(activity(known.latest, now) for known in self._all.values())


def title(label: str, texts: Iterable[str]) -> str:
    """By the label, else by what stands behind `[Goal]` in a text, else by the first text; never a bare name."""
    said = list(texts)
    goals = (found[1] for text in said if (found := _GOAL.search(text)))
    for candidate in (label, *goals, *said):
        line = " ".join(candidate.split())
        if line.lower() not in _NO_TITLE:
            return line if len(line) <= TITLE else f"{line[: TITLE - 1]}…"
    return "nothing was said yet"


def subtitle(agents: Iterable[str], at: str, now: str) -> str:
    return f"{', '.join(agents) or 'nobody yet'} · {at[:16].replace('T', ' ')} UTC · {ago(at, now)}"


def ago(at: str, now: str) -> str:
    passed = seconds_between(at, now)
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if count := int(passed // size):
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def category_of(
    label: str, texts: Iterable[str], roles: Iterable[Role], said: CategoryId | Literal[""] = ""
) -> Category:
    """`said` is what a person said; it holds whatever the words say."""
    present = {*roles}
    foremost = next((each for each in _ROLES if each in present), "system.observability")
    return classified(" ".join((label, *texts)), foremost, said)


def _category(known: _Gathered) -> Category:
    if known.category is None:
        label, said = (known.record.label, known.record.category) if known.record else ("", "")
        known.category = category_of(label or known.label, known.texts, known.roles, said)
    return known.category


def _row(id: str, known: _Gathered, now: str) -> WorkRow:
    record = known.record or WorkSession(id)
    label, at = record.label or known.label, known.latest.ts
    category = _category(known)
    return WorkRow(
        id=id,
        title=title(label, known.texts),
        subtitle=subtitle(known.agents, at, now),
        status=activity(known.latest, now),
        state=record.state if record.goal else None,
        paused=record.paused,
        category=category.category,
        category_label=category.label,
        category_source=category.category_source,
        confidence=category.confidence,
        sub_tags=category.sub_tags,
        roles=tuple(known.roles),
        agents=tuple(known.agents),
        runs=tuple(known.runs),
        events=known.events,
        started_at=known.first.ts,
        last_event_at=at,
        previous=record.previous or None,
    )


def _label(event: Event) -> str:
    said = event.errand.label if isinstance(event, RunStarted) else getattr(event, "label", "")
    return said if isinstance(said, str) else ""


def _text(event: Event) -> str:
    if not event.type.startswith(_SPEAKING):
        return ""
    texts = (getattr(event, name, "") for name in _SAID)
    return next((text for text in texts if isinstance(text, str) and text), "")


def work_document(
    row: WorkRow, record: WorkSession | None, timeline: Sequence[TimelineEntry]
) -> dict[str, Any]:
    """Everything about one work session, as programs read it."""
    listed: dict[str, Any] = msgspec.to_builtins(row)
    kept: dict[str, Any] = msgspec.to_builtins(record or WorkSession(row.id))
    return {**kept, **listed, "timeline": msgspec.to_builtins(timeline)}
