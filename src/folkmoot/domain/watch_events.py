"""What the watch does about tasks that nobody works on; each stands in the stream of its task."""

from __future__ import annotations

from folkmoot.domain.event import Event
from folkmoot.domain.task import TaskStatus, TaskStep
from folkmoot.errors import FailureKind

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
