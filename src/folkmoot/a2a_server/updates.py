"""What a client is told while a task goes on: a line for each step, then the report and how it ended."""

from __future__ import annotations

from collections.abc import AsyncIterator

from a2a.types import Task, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent

from folkmoot.a2a_server.tasks import WORKING, at, said, task_of
from folkmoot.app import Folkmoot
from folkmoot.domain.entry import Entry
from folkmoot.domain.events import RUN_ENDS, RunParked
from folkmoot.views.timeline import progress_line

RESTS = (*RUN_ENDS, RunParked)
"""After these nothing happens in a run by itself."""


async def updates(
    moot: Folkmoot, task: Task, after: int
) -> AsyncIterator[TaskStatusUpdateEvent | TaskArtifactUpdateEvent]:
    """Of what happens behind an entry of the journal, until the run ends or waits for someone."""
    async for entry in moot.events(task.id, follow=True, after=after):
        if isinstance(entry.event, RESTS):
            break
        if line := progress_line(entry.draft):
            yield _working(task, entry, line)
    rested = task_of(task.id, [entry.draft async for entry in moot.events(task.id)])
    for artifact in rested.artifacts:
        yield TaskArtifactUpdateEvent(
            task_id=task.id, context_id=task.context_id, artifact=artifact, last_chunk=True
        )
    yield TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=rested.status)


def _working(task: Task, entry: Entry, line: str) -> TaskStatusUpdateEvent:
    message = said(task.id, [entry.draft], entry.id, line)
    status = TaskStatus(state=WORKING, message=message, timestamp=at(entry.draft.ts))
    return TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=status)
