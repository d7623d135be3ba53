"""What an entry is for a monitor: the messages that go over the WebSocket. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from folkmoot.coordination.task.record import TASK
from folkmoot.domain.entry import Entry
from folkmoot.domain.event import Event
from folkmoot.domain.role import DELEGATION_EVENTS, TASK_EVENTS, role
from folkmoot.domain.task import TaskStep
from folkmoot.journal.codec import to_line

_AGENT_STATES = {
    "session.started": "active",
    "session.completed": "idle",
    "session.failed": "idle",
    "session.cancelled": "idle",
}
_TEAM_EVENTS = ("team.", "work_session.team_formed")
_PLAN_EVENTS = ("plan.", "step.")


class Told(msgspec.Struct, rename="camel", omit_defaults=True):
    """One message."""

    type: str
    timestamp: str
    data: Any
    agent_id: str = ""
    task_id: str = ""
    seq: int = 0
    """Of the entry that it tells of: who comes back asks for what is after it."""


def messages(entry: Entry) -> Iterator[Told]:
    """What there is to say about an entry; each with the event as the journal has it, or with what follows from it."""
    type, wire = entry.event.type, msgspec.Raw(to_line(entry)[:-1])
    task = entry.stream if entry.stream.startswith(TASK.prefix) else ""

    def told(name: str, **data: Any) -> Told:
        return Told(name, entry.draft.ts, data, entry.draft.agent_id, task, entry.seq)

    yield told("event_log", event=wire)
    if task and (status := _task_status(entry.event)):
        yield told("task_update", status=status, event=wire)
    if task and (steps := _steps(entry.event)):
        done = sum(step.status == "done" for step in steps)
        yield told("task_step_update", done=done, total=len(steps), steps=steps)
    if state := _AGENT_STATES.get(type):
        yield told("agent_update", status=state, event=wire)
    if type.startswith(_TEAM_EVENTS):
        yield told("team_state_update", event=wire)
    if type.startswith(_PLAN_EVENTS):
        yield told("plan_update", event=wire)
    if role(entry.draft) == "orchestration.task":
        yield told("continuation_event", event=wire)
    if type.startswith((*TASK_EVENTS, *DELEGATION_EVENTS)):
        affected = [entry.draft.work_session_id] if entry.draft.work_session_id else []
        yield told("coordination_event_new", events=[wire], affectedWorkSessions=affected)


def _task_status(event: Event) -> str:
    task = getattr(event, "task", None)
    status: str = task.status if task else getattr(event, "status", "")
    return status


def _steps(event: Event) -> tuple[TaskStep, ...]:
    """All of the task, where the event says them."""
    said: tuple[TaskStep, ...] | None = getattr(getattr(event, "task", event), "steps", None)
    return said or ()
