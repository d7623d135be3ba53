"""Whether anything still happens in a work session. Pure."""

from __future__ import annotations

from typing import Literal

from folkmoot.domain.duration import seconds_between
from folkmoot.domain.entry import Draft
from folkmoot.domain.work_session_events import WorkSessionChanged

Activity = Literal["ACTIVE", "QUIET", "ARCHIVED"]
ARCHIVED_AFTER = 86_400.0
"""Seconds without an event."""

_TERMINAL = (
    "run.completed", "run.failed", "run.cancelled", "work_session.completed", "plan.completed", "plan.rejected",
    "decision.committed", "task.completed", "task.cancelled", "a2a.complete", "a2a.spawn_result", "zombie.abandoned",
)  # fmt: skip
ASIDE = ("work_session.labelled", "work_session.categorised")
"""Said about the work; nothing of it was done."""


def counts(draft: Draft) -> bool:
    """Whether an event is a sign of life."""
    return draft.event.type not in ASIDE


def activity(latest: Draft, now: str) -> Activity:
    """By the latest event that counts."""
    if seconds_between(latest.ts, now) > ARCHIVED_AFTER:
        return "ARCHIVED"
    return "QUIET" if _is_terminal(latest) else "ACTIVE"


def _is_terminal(draft: Draft) -> bool:
    event = draft.event
    if isinstance(event, WorkSessionChanged):
        return event.state in ("Cancelled", "Error")
    return event.type in _TERMINAL
