"""Tasks for people: the board with its columns and cards, and Markdown files. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import astuple

from folkmoot.coordination.task_lists import current, of_agent, whole
from folkmoot.domain.task import ARCHIVED, PRIORITIES, Backlog, StepStatus, Task, TaskStatus
from folkmoot.domain.text import one_line
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
_FORMS: dict[StepStatus, str] = {"done": "on", "in_progress": "at", "skipped": "skip-step", "pending": "off"}
_BOXES: dict[StepStatus, str] = {"done": "x", "in_progress": ">", "pending": " ", "skipped": "-"}
_STRUCTURE = re.compile(r"^( {0,3})(#|```|~~~|---)", re.MULTILINE)
_FOOTER = "---\n*A view of the journal: editing this file changes nothing.*\n"


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
    aside: str

    @property
    def done(self) -> int:
        return _done(self.task)


class Column(Value):
    name: str
    state: str
    cards: tuple[Card, ...]


class WantedTasks(Value):
    """Which tasks a board shows; empty fields do not restrict."""

    agent: str = ""
    work_session: str = ""
    text: str = ""

    def fit(self, task: Task) -> bool:
        words = f"{task.id} {task.agent_id} {task.description} {task.work_session_id}".casefold()
        return (
            self.agent in ("", task.agent_id)
            and self.work_session in ("", task.work_session_id)
            and self.text.casefold() in words
        )


def board(tasks: Iterable[Task], now: str, wanted: WantedTasks = WantedTasks()) -> list[Column]:
    """The most urgent first; of what is over, the latest."""
    shown = [task for task in tasks if wanted.fit(task)]
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
    share = 100 / max(len(task.steps), 1)
    width = f"{max(share - _GAP, share / 2):.2f}%"
    outcome = _outcome(task)
    return Card(
        task=task,
        age=age(task.ended_at or task.last_activity or task.created_at, now),
        marks=tuple(
            StepMark(_FORMS[step.status], f"{at * share:.2f}%", width) for at, step in enumerate(task.steps)
        ),
        now=_current_step(task) if task.status == "in_progress" else "",
        because=outcome if task.status == "interrupted" else _because(task),
        outcome=outcome,
        aside=_aside(task),
    )


def _done(task: Task) -> int:
    return sum(not step.is_open for step in task.steps)


def _current_step(task: Task) -> str:
    return next((step.content for step in task.steps if step.status == "in_progress"), "")


def _because(task: Task) -> str:
    if task.status == "pending_approval":
        return "Waits for you: nobody has approved it yet"
    if task.status == "blocked" and task.blocking:
        asked = f"; {', '.join(task.blocking.unblocked_by)} can help" if task.blocking.unblocked_by else ""
        return f"{task.blocking.blocked_reason}{asked}"
    return ""


def _outcome(task: Task) -> str:
    """Each kind of outcome has one text."""
    return astuple(task.outcome)[0] if task.outcome else ""


def _aside(task: Task) -> str:
    if task.steps:
        return f"{_done(task)} of {len(task.steps)}"
    after = f"after {', '.join(task.backlog.depends_on)}" if task.backlog.depends_on else ""
    return " · ".join(filter(None, (task.backlog.estimated_effort, after)))


def projected(tasks: Mapping[str, Task]) -> dict[str, str]:
    """Every Markdown file below `.folkmoot/`, by its path there: each task, the current one of each agent, and what is
    over by month. The same tasks give the same files."""
    files: dict[str, str] = {}
    for agent in sorted({task.agent_id for task in tasks.values()}):
        own, folder = of_agent(tasks, agent), f"tasks/{agent}"
        files[f"{folder}/CURRENT_TASK.md"] = current_task(agent, current(tasks, agent))
        files |= {f"{folder}/{task.id}.md": markdown(task) for task in own if task.status not in ARCHIVED}
        over = [task for task in own if task.status in ARCHIVED]
        over.sort(key=lambda task: (task.ended_at, task.id))
        for month in sorted({task.ended_at[:7] for task in over}):
            ended = [task for task in over if task.ended_at.startswith(month)]
            files[f"{folder}/task-history/{month}.md"] = history(agent, month, ended)
    return files


def markdown(task: Task) -> str:
    return "\n".join((*_sections(task), _FOOTER))


def current_task(agent: str, task: Task | None) -> str:
    """Points at what an agent works on."""
    if task is None:
        return f"# Current task of {agent}\n\nNone.\n\n{_FOOTER}"
    doing = _current_step(task)
    step = f"\n**Step:** {one_line(doing)}\n" if doing else ""
    text = f"[{task.id}]({task.id}.md)\n\n{_text(task.description)}\n{step}"
    return f"# Current task of {agent}\n\n{text}\n{_FOOTER}"


def history(agent: str, month: str, ended: list[Task]) -> str:
    """What was completed or cancelled in a month, in the order in which it was."""
    whole_tasks = "\n".join("\n".join(_sections(task)) for task in ended)
    return f"# Tasks of {agent} that ended in {month}\n\n{whole_tasks}\n{_FOOTER}"


def _sections(task: Task) -> Iterator[str]:
    yield f"# Task: {task.id}\n"
    yield _section("Metadata", "\n".join(f"- **{key}:** {value}" for key, value in _metadata(task)))
    yield _section("Description", _text(task.description))
    if task.context:
        yield _section("Context", _text(task.context))
    if task.steps:
        steps = (f"- [{_BOXES[step.status]}] ({step.id}) {one_line(step.content)}" for step in task.steps)
        yield _section("Steps", "\n".join(steps))
    if task.progress:
        yield _section("Progress", "\n".join(f"- {one_line(note)}" for note in task.progress))
    yield _section("Last Activity", task.last_activity)
    if task.blocking:
        yield _section("Blocking", _json(task.blocking))
    if task.backlog != Backlog():
        yield _section("Backlog", _json(task.backlog, createdBy=task.created_by))
    if task.outcome:
        yield _section("Outcome", _json(task.outcome))


def _metadata(task: Task) -> Iterator[tuple[str, str]]:
    yield "Status", task.status
    yield "Priority", task.priority
    yield "Created", task.created_at
    yield "Source", one_line(task.source)
    yield "Work Session", task.work_session_id
    if task.previous_work_session_id:
        yield "Previous Work Session", task.previous_work_session_id
    if task.created_by_session:
        yield "Created By Session", task.created_by_session
    if task.simple:
        yield "Simple", "true"


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}\n"


def _json(value: Value, **more: str) -> str:
    text = json.dumps({**whole(value), **more}, ensure_ascii=False, indent=2)
    return f"```json\n{text}\n```"


def _text(text: str) -> str:
    """No text can pass for a section: what would begin one is escaped."""
    return _STRUCTURE.sub(r"\1\\\2", text)
