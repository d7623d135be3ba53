"""What a remote agent says, folded into a task as far as it is known: where it stands, and its report."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from a2a.helpers import get_data_parts
from a2a.types import Part, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState

from folkmoot.domain.text import storable
from folkmoot.errors import ModelFailed
from folkmoot.models.failure import cleaned
from folkmoot.ports import Hear

OVER = (
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
    TaskState.TASK_STATE_INPUT_REQUIRED,
)
"""Nothing more comes: either it has ended, or it asks back. A word of its own people it may wait for."""
_ENDED = {
    TaskState.TASK_STATE_FAILED: "failed",
    TaskState.TASK_STATE_CANCELED: "was cancelled there",
    TaskState.TASK_STATE_REJECTED: "did not take the request",
    TaskState.TASK_STATE_INPUT_REQUIRED: "asks back, and a remote agent is told no more than its request",
}


class Heard:
    def __init__(self, hear: Hear | None = None) -> None:
        self.task_id = ""
        self.state = TaskState.TASK_STATE_UNSPECIFIED
        self._said = ""
        """Beside the state."""
        self._artifacts: dict[str, str] = {}
        self._hear = hear

    def take(self, event: StreamResponse) -> None:
        match event.WhichOneof("payload"):
            case "task":
                self.task(event.task)
            case "message":
                self.state, self._said = TaskState.TASK_STATE_COMPLETED, text_of(event.message.parts)
            case "status_update":
                self.task_id = event.status_update.task_id
                self.state = event.status_update.status.state
                self._said = text_of(event.status_update.status.message.parts)
            case "artifact_update":
                self._artifact(event.artifact_update)

    def task(self, task: Task) -> None:
        """As a whole, whatever was known before."""
        self.task_id, self.state = task.id, task.status.state
        self._said = text_of(task.status.message.parts)
        self._artifacts = {artifact.artifact_id: text_of(artifact.parts) for artifact in task.artifacts}

    def report(self, name: str) -> str:
        """Raises `ModelFailed` for whoever gave none."""
        if how := _ENDED.get(self.state):
            why = cleaned(self._said, "")
            raise ModelFailed(f"{name} {how}{f': {why}' if why else ''}", retryable=False)
        if text := "\n\n".join(filter(None, self._artifacts.values())) or self._said:
            return storable(text)
        raise ModelFailed(f"{name} is done, and said nothing", retryable=False)

    def _artifact(self, update: TaskArtifactUpdateEvent) -> None:
        id, text = update.artifact.artifact_id, text_of(update.artifact.parts)
        self.task_id = update.task_id
        self._artifacts[id] = (self._artifacts.get(id, "") if update.append else "") + text
        if self._hear and text:
            self._hear(text)


def text_of(parts: Iterable[Part]) -> str:
    """Text goes on from part to part, for it may have come piece by piece; all else has lines of its own."""
    return "".join(part.text if part.HasField("text") else f"\n{_named(part)}\n" for part in parts).strip(
        "\n"
    )


def _named(part: Part) -> str:
    """A file is only named: whoever reads the report can look for it there."""
    match part.WhichOneof("content"):
        case "data":
            return json.dumps(_with_whole_numbers(get_data_parts([part])[0]), ensure_ascii=False)
        case "url":
            return f"[{part.filename or 'a file'} at {part.url}]"
        case _:
            return f"[{part.filename or 'a file'}, {len(part.raw)} bytes, not taken over]"


def _with_whole_numbers(value: Any) -> Any:
    """As they were written: on the way every number is one with a fraction."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _with_whole_numbers(inner) for key, inner in value.items()}
        case list():
            return [_with_whole_numbers(inner) for inner in value]
        case _:
            return value
