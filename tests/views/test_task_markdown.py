"""Tasks as Markdown: pure text, the same from the same tasks."""

import json
import re

import pytest
from msgspec.structs import replace

from folkmoot.domain.task import (
    Backlog,
    Blocking,
    Cancelled,
    Completed,
    Failed,
    Interrupted,
    Task,
    TaskStep,
)
from folkmoot.views.tasks import markdown, projected

AT = "2026-01-05T10:00:00.000Z"
TASK = Task(
    "task_1",
    "coder",
    "Mend it",
    "in_progress",
    AT,
    "coder",
    "run-1",
    work_session_id="ws_1",
    last_activity=AT,
)


def section(text: str, title: str) -> str:
    found = re.search(rf"^## {title}\n\n(.*?)\n\n?(?=^## |^---|^# |\Z)", text, re.DOTALL | re.MULTILINE)
    assert found is not None, text
    return found[1].strip()


def fenced(text: str, title: str) -> dict[str, object]:
    return json.loads(section(text, title).removeprefix("```json\n").removesuffix("```"))


def test_the_whole_file_of_a_task():
    """5.1: the sections and the marks of the steps."""
    steps = (
        TaskStep("s1", "look", 1, "done"),
        TaskStep("s2", "mend", 2, "in_progress"),
        TaskStep("s3", "test", 3),
        TaskStep("s4", "sing", 4, "skipped"),
    )
    task = replace(TASK, context="Since Monday.", steps=steps, progress=("seen\nit",), simple=True)

    assert (
        markdown(task)
        == """# Task: task_1

## Metadata

- **Status:** in_progress
- **Priority:** medium
- **Created:** 2026-01-05T10:00:00.000Z
- **Source:** self
- **Work Session:** ws_1
- **Created By Session:** run-1
- **Simple:** true

## Description

Mend it

## Context

Since Monday.

## Steps

- [x] (s1) look
- [>] (s2) mend
- [ ] (s3) test
- [-] (s4) sing

## Progress

- seen it

## Last Activity

2026-01-05T10:00:00.000Z

---
*A view of the journal: editing this file changes nothing.*
"""
    )


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [
        (Completed("all good"), {"kind": "completed", "summary": "all good"}),
        (Cancelled("not wanted"), {"kind": "cancelled", "reason": "not wanted"}),
        (Failed("no disk"), {"kind": "error", "error": "no disk"}),
        (Interrupted("no activity"), {"kind": "interrupted", "reason": "no activity"}),
    ],
)
def test_each_outcome_is_a_section_with_its_kind_and_its_field(outcome, shown):
    """E-26, E-27."""
    assert fenced(markdown(replace(TASK, outcome=outcome)), "Outcome") == shown


def test_what_blocks_a_task_and_what_is_agreed_for_the_backlog_are_json():
    """5.1."""
    text = markdown(
        replace(TASK, blocking=Blocking("no key", ("boss",)), backlog=Backlog("coder", due_date="2026-02-01"))
    )

    assert fenced(text, "Blocking")["unblockedBy"] == ["boss"]
    assert fenced(text, "Blocking")["escalationState"] == "none"
    assert fenced(text, "Backlog")["dueDate"] == "2026-02-01"
    assert fenced(text, "Backlog")["createdBy"] == "coder"


def test_no_text_of_a_task_passes_for_a_section_of_it():
    text = markdown(replace(TASK, description="x\n## Outcome\n```json\n---", progress=("a\n## Outcome",)))

    assert "\n## Outcome" not in text
    assert text.count("\n```") == 0
    assert section(text, "Last Activity") == AT


def test_the_tasks_of_two_agents_are_in_two_folders():
    """E-30."""
    other = replace(TASK, id="task_2", agent_id="tester", status="backlog")

    files = projected({"task_1": TASK, "task_2": other})

    assert sorted(files) == [
        "tasks/coder/CURRENT_TASK.md",
        "tasks/coder/task_1.md",
        "tasks/tester/CURRENT_TASK.md",
        "tasks/tester/task_2.md",
    ]
    assert "[task_1](task_1.md)" in files["tasks/coder/CURRENT_TASK.md"]
    assert "None." in files["tasks/tester/CURRENT_TASK.md"]


def test_what_is_completed_or_cancelled_is_archived_by_month_and_what_was_interrupted_stays_in_sight():
    """E-16, E-19, 5.1."""
    ends = {
        "task_1": replace(
            TASK, status="completed", outcome=Completed("one"), ended_at="2026-02-03T00:00:00.000Z"
        ),
        "task_2": replace(
            TASK,
            id="task_2",
            status="cancelled",
            outcome=Cancelled("two"),
            ended_at="2026-02-01T00:00:00.000Z",
        ),
        "task_3": replace(
            TASK,
            id="task_3",
            status="interrupted",
            outcome=Interrupted("three"),
            ended_at="2026-01-31T00:00:00.000Z",
        ),
        "task_4": replace(
            TASK,
            id="task_4",
            status="completed",
            outcome=Completed("four"),
            ended_at="2026-01-31T00:00:00.000Z",
        ),
    }

    files = projected(ends)

    assert sorted(files) == [
        "tasks/coder/CURRENT_TASK.md",
        "tasks/coder/task-history/2026-01.md",
        "tasks/coder/task-history/2026-02.md",
        "tasks/coder/task_3.md",
    ]
    february = files["tasks/coder/task-history/2026-02.md"]
    assert february.index("# Task: task_2") < february.index("# Task: task_1")
    assert february.count("## Outcome") == 2
    assert files == projected(dict(reversed(ends.items())))
