"""What can happen to a task. Each event says the status after it, so that it can be read alone."""

from __future__ import annotations

from typing import Literal

from folkmoot.domain.event import Event
from folkmoot.domain.task import Blocking, Cancelled, Completed, Failed, Task, TaskStatus, TaskStep

StepAction = Literal["", "set_steps", "add_step", "complete_step", "start_step", "skip_step", "reorder_steps"]


class TaskStarted(Event):
    """A task came into being and is worked on, or waits for approval."""

    type = "task.started"
    task: Task


class TaskBacklogAdded(Event):
    """A task came into being, to be done some time."""

    type = "task.backlog_added"
    task: Task


class TaskUpdated(Event):
    """A note was made, or its steps changed."""

    type = "task.updated"
    status: TaskStatus
    progress: str = ""
    action: StepAction = ""
    step_id: str = ""
    steps: tuple[TaskStep, ...] | None = None
    """All of them as they are now."""


class TaskCompleted(Event):
    """It is done."""

    type = "task.completed"
    status: TaskStatus
    outcome: Completed
    left_open: tuple[str, ...] = ()
    """Steps that were open when somebody insisted."""


class TaskCancelled(Event):
    """It will not be done."""

    type = "task.cancelled"
    status: TaskStatus
    outcome: Cancelled


class TaskFailed(Event):
    """It could not be done."""

    type = "task.failed"
    status: TaskStatus
    outcome: Failed


class TaskApproved(Event):
    """Somebody approved of it, and work begins."""

    type = "task.approved"
    status: TaskStatus
    steps: tuple[TaskStep, ...] = ()


class TaskBlocked(Event):
    """It cannot go on without others."""

    type = "task.blocked"
    status: TaskStatus
    blocking: Blocking


class TaskResumed(Event):
    """It goes on after having been blocked."""

    type = "task.resumed"
    status: TaskStatus


class TaskBacklogPicked(Event):
    """It was taken from the backlog, and work begins."""

    type = "task.backlog_picked"
    status: TaskStatus
    steps: tuple[TaskStep, ...] = ()
    work_session: str = ""
    """In which it is worked on from here."""
