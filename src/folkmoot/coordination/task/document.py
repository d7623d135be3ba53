"""A task as it is shown outside: one JSON object, every field in it, whether set or not. Pure."""

from __future__ import annotations

from typing import Any

from folkmoot.domain.task import StepStatus, Task
from folkmoot.domain.value import Value


def document(task: Task) -> dict[str, Any]:
    """What blocks it, and what is agreed for the backlog, are fields of the task itself."""
    fields = whole(task)
    blocking, backlog = fields.pop("blocking") or {}, fields.pop("backlog")
    return {**fields, "source": task.source, **blocking, **backlog}


def step_counts(task: Task) -> dict[str, int]:
    statuses: tuple[StepStatus, ...] = ("done", "in_progress", "pending", "skipped")
    counts: dict[str, int] = {
        status: sum(step.status == status for step in task.steps) for status in statuses
    }
    return {"total": len(task.steps), **counts}


def whole(value: Value) -> dict[str, Any]:
    """With the fields that have their defaults, and with the kind of an outcome."""
    tag = value.__struct_config__.tag
    names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
    fields = {outside: _plain(getattr(value, inside)) for outside, inside in names}
    return {"kind": tag, **fields} if tag else fields


def _plain(content: Any) -> Any:
    if isinstance(content, tuple):
        return [_plain(each) for each in content]
    return whole(content) if isinstance(content, Value) else content
