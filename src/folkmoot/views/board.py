"""The task board: in which column a task stands, and what its card says."""

from __future__ import annotations

from collections.abc import Iterable

from folkmoot.domain.task import (
    PRIORITIES,
    Cancelled,
    Completed,
    Failed,
    Interrupted,
    Task,
    TaskStatus,
    TaskStep,
)
from folkmoot.domain.value import Value
from folkmoot.views.figures import age

_COLUMNS: tuple[tuple[str, str, tuple[TaskStatus, ...]], ...] = (
    ("Backlog", "queued", ("backlog", "pending")),
    ("Needs approval", "waiting", ("pending_approval",)),
    ("In progress", "running", ("in_progress",)),
    ("Blocked", "failed", ("blocked", "interrupted")),
    ("Completed", "done", ("completed", "cancelled")),
)
"""Name, the state in whose form it is drawn, and what stands there."""
_GAP = 1.5
"""Percent of the width between two steps."""
_MARKS = {"done": "on", "in_progress": "at", "skipped": "skip-step", "pending": "off"}


class StepMark(Value):
    """One step as a piece of a bar."""

    form: str
    x: str
    width: str


class Card(Value):
    task: Task
    age: str
    """Since something was last done about it."""
    marks: tuple[StepMark, ...]
    now: str
    """The step that is worked on."""
    because: str
    """Why it does not go on."""
    outcome: str
    """What came of it."""
    aside: str

    @property
    def done(self) -> int:
        return sum(not step.is_open for step in self.task.steps)


class Column(Value):
    name: str
    state: str
    cards: tuple[Card, ...]


class WantedTasks(Value):
    """Which tasks a board shows; empty fields do not restrict."""

    agent: str = ""
    work_session: str = ""
    text: str = ""


def board(tasks: Iterable[Task], now: str, wanted: WantedTasks = WantedTasks()) -> list[Column]:
    """The most urgent first; of what is over, the latest."""
    shown = [task for task in tasks if _fits(task, wanted)]
    columns = []
    for name, state, statuses in _COLUMNS:
        here = [task for task in shown if task.status in statuses]
        if state == "done":
            here.sort(key=lambda task: task.ended_at or task.last_activity, reverse=True)
        else:
            here.sort(key=lambda task: (PRIORITIES.index(task.priority), task.created_at))
        columns.append(Column(name, state, tuple(card(task, now) for task in here)))
    return columns


def card(task: Task, now: str) -> Card:
    current = next((step.content for step in task.steps if step.status == "in_progress"), "")
    return Card(
        task=task,
        age=age(task.ended_at or task.last_activity or task.created_at, now),
        marks=tuple(_mark(step, at, len(task.steps)) for at, step in enumerate(task.steps)),
        now=current if task.status == "in_progress" else "",
        because=_because(task),
        outcome=_outcome(task),
        aside=_aside(task),
    )


def _mark(step: TaskStep, at: int, of: int) -> StepMark:
    share = 100 / of
    width = max(share - _GAP, share / 2)
    return StepMark(_MARKS[step.status], f"{at * share:.2f}%", f"{width:.2f}%")


def _because(task: Task) -> str:
    if task.status == "pending_approval":
        return "Waits for you: nobody has approved it yet"
    if task.status == "blocked" and task.blocking:
        asked = f"; {', '.join(task.blocking.unblocked_by)} can help" if task.blocking.unblocked_by else ""
        return f"{task.blocking.blocked_reason}{asked}"
    return _outcome(task) if task.status == "interrupted" else ""


def _outcome(task: Task) -> str:
    match task.outcome:
        case Completed(text) | Cancelled(text) | Failed(text) | Interrupted(text):
            return text
        case _:
            return ""


def _aside(task: Task) -> str:
    if task.steps:
        done = sum(not step.is_open for step in task.steps)
        return f"{done} of {len(task.steps)}"
    after = f"after {', '.join(task.backlog.depends_on)}" if task.backlog.depends_on else ""
    return " · ".join(filter(None, (task.backlog.estimated_effort, after)))


def _fits(task: Task, wanted: WantedTasks) -> bool:
    words = f"{task.id} {task.agent_id} {task.description} {task.work_session_id}".casefold()
    return (
        wanted.agent in ("", task.agent_id)
        and wanted.work_session in ("", task.work_session_id)
        and wanted.text.casefold() in words
    )
