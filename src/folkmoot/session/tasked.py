"""Which task an agent works on, as the task tools in its session said. Pure."""

from __future__ import annotations

import msgspec

from folkmoot.domain.events import ToolFinished
from folkmoot.domain.naming import GROUPS


class _Said(msgspec.Struct):
    """What a task tool answers when it has changed a task."""

    task_id: str
    agent_id: str
    status: str


def working_on(task: str, agent: str, event: ToolFinished) -> str:
    """The task after one more result; `task` is the one before, empty if there is none."""
    if event.tool not in GROUPS["tasks"]:
        return task
    try:
        said = msgspec.json.decode(event.text, type=_Said)
    except msgspec.MsgspecError:  # it was only looked at
        return task
    if said.agent_id == agent and said.status == "in_progress":
        return said.task_id
    return "" if said.task_id == task else task
