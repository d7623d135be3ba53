"""Which task an agent works on, as the task tools in its session said. Pure."""

from __future__ import annotations

from folkmoot.domain.events import ToolFinished
from folkmoot.domain.naming import GROUPS
from folkmoot.domain.older_entries import task_states


def working_on(task: str, agent: str, event: ToolFinished) -> str:
    """The task after one more result; `task` is the one before, empty if there is none."""
    if event.tool not in GROUPS["tasks"]:
        return task
    for changed in task_states(event.text) if event.records is None else event.records:
        if changed.agent == agent and changed.status == "in_progress":
            return changed.id
        if changed.id == task:
            return ""
    return task
