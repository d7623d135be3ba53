"""What the watch says to an agent, and why its run is started. The task itself is foreign text: it goes in a block."""

from __future__ import annotations

from collections.abc import Iterator

from folkmoot.coordination.watch.rules import Move
from folkmoot.domain.errand import Block, Errand
from folkmoot.domain.task import Task

SHOWN_PROGRESS = 10
"""Of the notes on a task, the latest."""
_MARKS = {"done": "x", "in_progress": ">", "pending": " ", "skipped": "-"}
_REQUESTS = {
    "continuation.sent": (
        "Your task {task.id} is in progress, but nobody has worked on it for {event.idle_seconds:.0f} seconds. Go on"
        " with it. When it is done, complete it; if you cannot go on without others, block it."
    ),
    "unblock.requested": (
        "{task.agent_id} cannot go on with task {task.id} and needs your help (request {event.attempt}). Do what is"
        " needed, and say what you did."
    ),
    "resume_reminder.sent": (
        "Your task {task.id} is blocked, but somebody who was asked to help has answered. If you can go on now,"
        " resume it."
    ),
    "backlog.auto_picked": (
        "You have nothing else to do, so task {task.id} was taken from your backlog for you. Work on it, and"
        " complete it."
    ),
    "zombie.reported": (
        "Task {task.id} of {task.agent_id} was interrupted, because nobody worked on it. Decide what becomes of it."
    ),
}
"""By the event that is recorded before. Nothing that an agent wrote is in them but names."""
_SUMMARIES = {
    "continuation.sent": "told to go on; idle for {event.idle_seconds:.0f} s",
    "continuation.backoff": "left alone until {event.until}: {event.reason}, {event.failures} in a row",
    "unblock.requested": "asked to help, request {event.attempt}",
    "unblock.failed": "cannot be asked: {event.reason}",
    "resume_reminder.sent": "reminded that it may go on",
    "zombie.abandoned": "{event.status}: no activity since {event.last_activity}",
    "zombie.reported": "told that a task of {task.agent_id} was interrupted",
    "backlog.auto_picked": "given the first task of its backlog",
}


def request(move: Move) -> str:
    """In the runtime's own words."""
    return _REQUESTS[move.event.type].format(task=move.task, event=move.event)


def summary(move: Move) -> str:
    """What is done, for people."""
    return _SUMMARIES[move.event.type].format(task=move.task, event=move.event)


def errand(move: Move, heard: tuple[Block, ...] = ()) -> Errand:
    """`heard` is what others said about it."""
    block = Block("task", "\n".join(_lines(move.task)))
    return Errand(work_session=move.task.work_session_id, task=move.task.id, blocks=(block, *heard))


def _lines(task: Task) -> Iterator[str]:
    yield f"Task {task.id} ({task.status}, priority {task.priority}) of {task.agent_id}"
    yield task.description
    if task.backlog.due_date:
        yield f"Due: {task.backlog.due_date}"
    if task.backlog.estimated_effort:
        yield f"Estimated effort: {task.backlog.estimated_effort}"
    if task.context:
        yield f"Context: {task.context}"
    yield from (f"- [{_MARKS[step.status]}] ({step.id}) {step.content}" for step in task.steps)
    yield from (f"Noted: {note}" for note in task.progress[-SHOWN_PROGRESS:])
    if task.blocking:
        yield f"Blocked: {task.blocking.blocked_reason}"
        if task.blocking.unblocked_action:
            yield f"What is needed: {task.blocking.unblocked_action}"
    if task.ended_at:
        yield f"Interrupted at {task.ended_at}; its last activity was at {task.last_activity}"
