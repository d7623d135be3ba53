"""What a task is now: a fold over its events."""

from __future__ import annotations

from msgspec.structs import replace

from folkmoot.domain import task_events as happened
from folkmoot.domain import watch_events as watched
from folkmoot.domain.entry import Draft
from folkmoot.domain.event import Event
from folkmoot.domain.reference import Kind
from folkmoot.domain.task import Interrupted, Task, TaskOutcome, TaskStatus
from folkmoot.errors import JournalDamaged


def evolve(task: Task | None, draft: Draft) -> Task:
    match draft.event:
        case happened.TaskStarted(begun) | happened.TaskBacklogAdded(begun):
            return begun
    if task is None:
        raise JournalDamaged(f"a task cannot begin with a {draft.event.type} event")
    if draft.event.type.startswith("task."):
        return _handled(replace(task, last_activity=draft.ts), draft.event, draft.ts)
    return _watched(task, draft.event, draft.ts)


def _handled(task: Task, event: Event, at: str) -> Task:
    """What its agent or a person did."""
    match event:
        case happened.TaskUpdated():
            steps = task.steps if event.steps is None else event.steps
            task = replace(task, steps=steps, progress=_noted(task, event.progress))
        case happened.TaskCompleted():
            note = f"completed by force, left open: {', '.join(event.left_open)}" if event.left_open else ""
            task = _ended(replace(task, progress=_noted(task, note)), event.status, event.outcome, at)
        case happened.TaskCancelled() | happened.TaskFailed():
            task = _ended(task, event.status, event.outcome, at)
        case happened.TaskApproved():
            task = replace(task, status=event.status, steps=event.steps)
        case happened.TaskBlocked():
            task = replace(task, status=event.status, blocking=event.blocking)
        case happened.TaskResumed():
            task = replace(task, status=event.status, blocking=None)
        case happened.TaskBacklogPicked():
            task = _picked(task, event)
    return task


def _watched(task: Task, event: Event, at: str) -> Task:
    """What the watch did. Only a task that it gave to its agent counts as touched."""
    match event:
        case watched.ContinuationSent():
            task = replace(task, last_continuation_at=at)
        case watched.ResumeReminderSent():
            task = replace(task, last_reminder_at=at)
        case watched.UnblockRequested() | watched.UnblockFailed():
            task = _asked(task, event, at)
        case watched.BacklogAutoPicked():
            task = replace(_picked(task, event), last_activity=at)
        case watched.ZombieAbandoned(status="backlog"):
            back = replace(task.backlog, reassign_count=task.backlog.reassign_count + 1)
            task = replace(task, status="backlog", backlog=back, blocking=None)
        case watched.ZombieAbandoned():
            why = event.reason or f"no activity since {event.last_activity}"
            task = _ended(task, event.status, Interrupted(why), at)
    return task


def _asked(task: Task, event: watched.UnblockRequested | watched.UnblockFailed, at: str) -> Task:
    if task.blocking is None:  # it was resumed in between
        return task
    if isinstance(event, watched.UnblockFailed):
        failed = replace(
            task.blocking,
            unblock_request_failures=event.failures,
            escalation_state="failed" if event.final else task.blocking.escalation_state,
        )
        return replace(task, blocking=failed)
    asked = replace(
        task.blocking,
        unblock_request_count=event.attempt,
        last_unblocker_index=event.index,
        last_unblock_request_at=at,
        escalation_state="escalated" if event.escalated else "requesting",
    )
    return replace(task, blocking=asked)


def _picked(task: Task, event: happened.TaskBacklogPicked | watched.BacklogAutoPicked) -> Task:
    now = event.work_session or task.work_session_id
    before = task.previous_work_session_id if now == task.work_session_id else task.work_session_id
    return replace(
        task, status=event.status, steps=event.steps, work_session_id=now, previous_work_session_id=before
    )


def _ended(task: Task, status: TaskStatus, outcome: TaskOutcome, at: str) -> Task:
    return replace(task, status=status, outcome=outcome, ended_at=at, blocking=None)


def _noted(task: Task, note: str) -> tuple[str, ...]:
    return (*task.progress, note) if note else task.progress


TASK: Kind[Task] = Kind("task", "task_", "folkmoot tasks list --all", evolve)
