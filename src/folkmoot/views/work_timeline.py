"""What happened in one work session, in order of time: one line each, with who; from its records and all its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from folkmoot.domain.entry import Draft, Entry
from folkmoot.domain.event import Event
from folkmoot.domain.value import Value
from folkmoot.domain.work_session import WorkSession
from folkmoot.domain.work_session_events import WorkSessionTeamFormed
from folkmoot.views.timeline import line_of
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
_LINES: Mapping[str, str] = {
    "run.started": "{agent} is asked: {event.request}",
    "run.completed": "{agent} has answered",
    "run.failed": "{agent} failed: {event.error}",
    "run.cancelled": "{agent} is cancelled: {event.reason}",
    "run.parked": "{agent} waits",
    "plan.created": "{agent} makes a plan: {event.plan.goal}",
    "plan.submitted": "{agent} submits the plan",
    "plan.reviewed": "{agent} reviews the plan: {event.text}",
    "plan.approved": "{agent} approves the plan",
    "plan.committed": "{agent} commits the plan",
    "plan.completed": "the plan is done",
    "step.started": "{owner} begins with step {event.step}",
    "step.blocked": "{owner} cannot go on with step {event.step}{because}",
    "step.resumed": "{owner} goes on with step {event.step}{because}",
    "step.accepted": "{owner} takes over step {event.step}",
    "step.reassigned": "step {event.step} passes from {event.sender} on to {event.receiver}{because}",
    "step.reviewed": "{agent} reviews step {event.step}: {event.verdict}",
    "step.reopened": "{agent} reopens step {event.step}{because}",
    "step.completed": "{owner} is through with step {event.step}",
    "task.started": "{event.task.agent_id} has a task: {event.task.description}",
    "task.completed": "the task is completed",
    "task.cancelled": "the task is cancelled",
    "task.blocked": "{agent} blocks its task",
    "handoff.requested": "{event.sender} hands over to {event.receiver} ({event.kind})",
    "handoff.rejected": "{event.receiver} does not take it: {event.error}",
    "snapshot.created": "a snapshot is kept: {event.reason}",
    "work_session.opened": "{agent} opens the work session: {event.goal}",
    "work_session.changed": "{agent}: the work session is {event.state} now{because}",
    "work_session.completed": "{agent} completes the work session: {event.summary}",
    "work_session.paused": "{agent} pauses the work session{because}",
    "work_session.resumed": "{agent} lets the work session go on",
    "work_session.labelled": "{agent} calls it {event.label}",
    "work_session.categorised": "{agent} says it is {event.category}",
    "work_session.summarised": "{agent} sums up: {event.summary}",
    "work_session.artifact_added": "{agent} adds a {event.kind}: {event.title}",
    "work_session.refused": "{event.agent} is refused: {event.reason}",
}
_SAID = ("title", "topic", "description", "message", "text", "goal", "option", "choice", "reason", "error")


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
    text = " ".join(_line(draft).split())
    line = text if len(text) <= _LENGTH else f"{text[: _LENGTH - 1]}…"
    return TimelineEntry(draft.ts, kind, draft.agent_id, line, type, entry.stream, entry.seq)


def _line(draft: Draft) -> str:
    event = draft.event
    if isinstance(event, WorkSessionTeamFormed):
        members = ", ".join(f"{member.agent} ({member.role})" for member in event.team.members)
        return f"{draft.agent_id} forms the team: {members}"
    if form := _LINES.get(event.type):
        reason = getattr(event, "reason", "")
        owner = getattr(event, "owner", "") or draft.agent_id
        because = f": {reason}" if reason else ""
        return form.format(agent=draft.agent_id, owner=owner, event=event, because=because)
    return line_of(draft) or _plainly(draft.agent_id, event)


def _plainly(agent: str, event: Event) -> str:
    """`ann: decision voted: yes`, for an event that has no line of its own."""
    texts = (getattr(event, name, "") for name in _SAID)
    said = next((text for text in texts if isinstance(text, str) and text), "")
    return f"{agent}: {event.type.replace('.', ' ').replace('_', ' ')}{': ' if said else ''}{said}"
