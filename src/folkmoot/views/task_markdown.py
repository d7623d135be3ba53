"""Tasks as Markdown files for people: one per task, the current one of each agent, and what is over, by month. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from folkmoot.coordination.task_lists import current, of_agent, whole
from folkmoot.domain.task import ARCHIVED, Backlog, StepStatus, Task
from folkmoot.domain.text import one_line
from folkmoot.domain.value import Value

_MARKS: dict[StepStatus, str] = {"done": "x", "in_progress": ">", "pending": " ", "skipped": "-"}
_STRUCTURE = re.compile(r"^( {0,3})(#|```|~~~|---)", re.MULTILINE)
_FOOTER = "*A view of the journal: editing this file changes nothing.*\n"


def projected(tasks: Mapping[str, Task]) -> dict[str, str]:
    """Every file below `.folkmoot/`, by its path there. The same tasks give the same files."""
    files: dict[str, str] = {}
    for agent in sorted({task.agent_id for task in tasks.values()}):
        own, folder = of_agent(tasks, agent), f"tasks/{agent}"
        files[f"{folder}/CURRENT_TASK.md"] = current_task(agent, current(tasks, agent))
        for task in own:
            if task.status not in ARCHIVED:
                files[f"{folder}/{task.id}.md"] = markdown(task)
        over = sorted(
            (task for task in own if task.status in ARCHIVED), key=lambda task: (task.ended_at, task.id)
        )
        for month in sorted({task.ended_at[:7] for task in over}):
            ended = [task for task in over if task.ended_at.startswith(month)]
            files[f"{folder}/task-history/{month}.md"] = history(agent, month, ended)
    return files


def markdown(task: Task) -> str:
    return "\n".join((*_sections(task), "---", _FOOTER))


def current_task(agent: str, task: Task | None) -> str:
    """Points at what an agent works on."""
    if task is None:
        return f"# Current task of {agent}\n\nNone.\n\n---\n{_FOOTER}"
    doing = next((step.content for step in task.steps if step.status == "in_progress"), "")
    step = f"\n**Step:** {one_line(doing)}\n" if doing else ""
    text = f"[{task.id}]({task.id}.md)\n\n{_text(task.description)}\n{step}"
    return f"# Current task of {agent}\n\n{text}\n---\n{_FOOTER}"


def history(agent: str, month: str, ended: list[Task]) -> str:
    """What was completed or cancelled in a month, in the order in which it was."""
    whole_tasks = "\n".join("\n".join(_sections(task)) for task in ended)
    return f"# Tasks of {agent} that ended in {month}\n\n{whole_tasks}\n---\n{_FOOTER}"


def _sections(task: Task) -> Iterator[str]:
    yield f"# Task: {task.id}\n"
    yield _section("Metadata", "\n".join(f"- **{key}:** {value}" for key, value in _metadata(task)))
    yield _section("Description", _text(task.description))
    if task.context:
        yield _section("Context", _text(task.context))
    if task.steps:
        steps = (f"- [{_MARKS[step.status]}] ({step.id}) {one_line(step.content)}" for step in task.steps)
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
