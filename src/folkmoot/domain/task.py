"""A task, and what can happen to it."""

from __future__ import annotations

from typing import Literal

from folkmoot.domain.entry import Event
from folkmoot.domain.value import Value
from folkmoot.errors import FailureKind

TaskStatus = Literal[
    "pending",
    "pending_approval",
    "in_progress",
    "blocked",
    "backlog",
    "completed",
    "cancelled",
    "interrupted",
]
STATUSES: tuple[TaskStatus, ...] = (
    "pending", "pending_approval", "in_progress", "blocked", "backlog", "completed", "cancelled", "interrupted",
)  # fmt: skip
ENDED: tuple[TaskStatus, ...] = ("completed", "cancelled", "interrupted")
LIVE = tuple(status for status in STATUSES if status not in ENDED)
ARCHIVED: tuple[TaskStatus, ...] = ("completed", "cancelled")
"""Nobody has to look at these any more; what was interrupted stays in sight."""
ACTIVE: tuple[TaskStatus, ...] = ("pending", "pending_approval", "in_progress", "blocked")
"""An agent that has one of these takes nothing more from its backlog."""
Priority = Literal["low", "medium", "high", "urgent"]
PRIORITIES: tuple[Priority, ...] = ("urgent", "high", "medium", "low")
"""The first comes first."""
Effort = Literal["", "small", "medium", "large"]
EFFORTS: tuple[Effort, ...] = ("small", "medium", "large")
StepStatus = Literal["pending", "in_progress", "done", "skipped"]
Escalation = Literal["none", "requesting", "escalated", "failed"]


class TaskStep(Value):
    id: str
    """`s1`, `s2`, …; it stays the same when steps are put into another order."""
    content: str
    order: int
    """From 1."""
    status: StepStatus = "pending"

    @property
    def is_open(self) -> bool:
        return self.status in ("pending", "in_progress")


class Blocking(Value):
    """What a blocked task waits for, and how often others were asked about it."""

    blocked_reason: str
    unblocked_by: tuple[str, ...]
    """The agents that can help, asked in turn."""
    unblocked_action: str = ""
    """What they are to do."""
    unblock_request_count: int = 0
    last_unblocker_index: int = -1
    """Who of `unblocked_by` was asked last; -1: nobody yet."""
    last_unblock_request_at: str = ""
    escalation_state: Escalation = "none"
    unblock_request_failures: int = 0


class Backlog(Value):
    """What is agreed about a task that is to be done some time."""

    assignee: str = ""
    depends_on: tuple[str, ...] = ()
    """Tasks that must be completed before."""
    estimated_effort: Effort = ""
    start_date: str = ""
    """Not before this day or time, ISO 8601 in UTC."""
    due_date: str = ""
    milestone_id: str = ""
    milestone_item_id: str = ""
    reassign_count: int = 0
    """How often it went back because nobody worked on it."""


class Completed(Value, tag_field="kind", tag="completed"):
    summary: str = ""


class Cancelled(Value, tag_field="kind", tag="cancelled"):
    reason: str = ""


class Failed(Value, tag_field="kind", tag="error"):
    error: str = ""


class Interrupted(Value, tag_field="kind", tag="interrupted"):
    reason: str = ""


TaskOutcome = Completed | Cancelled | Failed | Interrupted


class Task(Value):
    id: str
    agent_id: str
    """Whose task it is."""
    description: str
    status: TaskStatus
    created_at: str
    created_by: str
    """The agent or person that asked for it."""
    created_by_session: str = ""
    context: str = ""
    priority: Priority = "medium"
    simple: bool = False
    """It needs no steps."""
    steps: tuple[TaskStep, ...] = ()
    """In their order."""
    progress: tuple[str, ...] = ()
    work_session_id: str = ""
    previous_work_session_id: str = ""
    last_activity: str = ""
    """When its agent, or a person, last did something about it."""
    ended_at: str = ""
    last_continuation_at: str = ""
    """When its agent was last told to go on with it."""
    last_reminder_at: str = ""
    """When its agent was last reminded that it might be free to go on."""
    blocking: Blocking | None = None
    backlog: Backlog = Backlog()
    outcome: TaskOutcome | None = None

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED

    @property
    def source(self) -> str:
        """Where it comes from: `self`, or `request:` and whoever asked this agent for it."""
        return "self" if self.created_by == self.agent_id else f"request:{self.created_by}"

    @property
    def open_steps(self) -> tuple[TaskStep, ...]:
        return tuple(step for step in self.steps if step.is_open)


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


Reason = FailureKind
"""Why a run failed, as far as it matters for when to try again."""


class ContinuationSent(Event):
    """The agent of an idle task is told to go on with it. Recorded before the run that tells it begins."""

    type = "continuation.sent"
    agent: str
    idle_seconds: float = 0.0
    run: str = ""
    """The run that tells it, if its name is known."""


class ContinuationBackoff(Event):
    """Telling an agent to go on failed; it is left alone for a while."""

    type = "continuation.backoff"
    agent: str
    reason: Reason
    failures: int
    """In a row."""
    until: str
    error: str = ""


class UnblockRequested(Event):
    """Another agent is asked to help with a blocked task; the last request is an escalation to people."""

    type = "unblock.requested"
    unblocker: str
    index: int
    """Of the unblocker among those that can help."""
    attempt: int
    """From 1."""
    escalated: bool = False
    channel: str = ""
    """With an escalation: where people are told of it; `internal` is the journal and whoever reads it."""
    run: str = ""


class UnblockFailed(Event):
    """Nobody could be asked."""

    type = "unblock.failed"
    reason: str
    unblocker: str = ""
    failures: int = 0
    """Requests that could not be sent, so far."""
    final: bool = False
    """Nobody is asked any more."""


class ResumeReminderSent(Event):
    """The agent of a blocked task is asked whether it can go on. Recorded before it is asked."""

    type = "resume_reminder.sent"
    agent: str
    run: str = ""


class ZombieAbandoned(Event):
    """Nobody worked on a task for too long: it is interrupted, or goes back to the backlog."""

    type = "zombie.abandoned"
    status: TaskStatus
    last_activity: str
    reason: str = ""


class ZombieReported(Event):
    """A lead is told of a task that was interrupted. Recorded before it is told."""

    type = "zombie.reported"
    lead: str


class BacklogAutoPicked(Event):
    """The agent had nothing to do, and was given the first task of its backlog."""

    type = "backlog.auto_picked"
    status: TaskStatus
    agent: str
    steps: tuple[TaskStep, ...] = ()
    work_session: str = ""
