"""What happened in one work session, in order of time: one line each, with who; from its records and all its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from folkmoot.domain.entry import Entry
from folkmoot.domain.sentences import describe_event
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import WorkSession
from folkmoot.views.work_sessions import WorkRow

_LENGTH = 160
"""Characters of a line."""
_KINDS: Mapping[str, str] = {
    "plan": "plan",
    "step": "step",
    "tool": "tool",
    "handoff": "handoff",
    "router": "handoff",
    "decision": "decision",
    "approval": "approval",
    "question": "approval",
    "client": "tool",
    "task": "task",
    "zombie": "task",
    "backlog": "task",
    "unblock": "task",
    "a2a": "message",
    "run": "run",
    "work_session": "work session",
    "snapshot": "snapshot",
}
"""By the first word of an event's name; others are left out."""
_LEFT_OUT = (
    "tool.finished",
    "handoff.accepted",
    "handoff.completed",
    "router.selected",
    "run.bound",
    "run.claimed",
    "work_session.asked",  # the run says it too
    "work_session.answered",
    "work_session.entrusted",
    "plan.progress",
    "decision.voting_opened",
)


class TimelineEntry(Value, omit_defaults=False):
    at: str
    kind: str
    agent_id: str
    """Who did it."""
    text: str
    type: str
    """The name of the event."""
    run_id: str
    """Or the name of the record."""
    seq: int


def work_timeline(work_session: str, entries: Iterable[Entry]) -> list[TimelineEntry]:
    """Ordered by time, and where that is the same by the journal's own order."""
    shown = (timeline_entry(entry) for entry in entries if entry.draft.work_session_id == work_session)
    return sorted((each for each in shown if each), key=lambda each: (each.at, each.seq))


def work_document(
    row: WorkRow, record: WorkSession | None, timeline: Sequence[TimelineEntry]
) -> dict[str, Any]:
    """Everything about one work session, as programs read it."""
    listed: dict[str, Any] = msgspec.to_builtins(row)
    kept: dict[str, Any] = msgspec.to_builtins(record or WorkSession(row.id))
    return {**kept, **listed, "timeline": msgspec.to_builtins(timeline)}


def timeline_entry(entry: Entry) -> TimelineEntry | None:
    """None for what people need not see."""
    draft, type = entry.draft, entry.event.type
    kind = _KINDS.get(type.partition(".")[0])
    if kind is None or type in _LEFT_OUT:
        return None
    line = describe_event(draft.event, draft.agent_id, width=_LENGTH)
    return TimelineEntry(draft.ts, kind, draft.agent_id, line, type, entry.stream, entry.seq)
