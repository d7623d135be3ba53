"""The tasks of an agent in pages, the newest first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from a2a.types import ListTasksRequest, ListTasksResponse, Task, TaskState
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import validate_page_size

from folkmoot.domain.run_row import RunRow


async def page_of(
    rows: Sequence[RunRow], asked: ListTasksRequest, shown: Callable[[str], Awaitable[Task]]
) -> ListTasksResponse:
    """`rows` are all runs that may be meant; `shown` makes the task of one. A page token is the last task shown."""
    size = asked.page_size if asked.HasField("page_size") else DEFAULT_LIST_TASKS_PAGE_SIZE
    validate_page_size(size)
    names = [row.run_id for row in rows]
    if _selects(asked):
        names = [run for run in names if _fits(await shown(run), asked)]
    start = _after(asked.page_token, names)
    page = names[start : start + size]
    more = start + size < len(names)
    return ListTasksResponse(
        tasks=[await shown(run) for run in page],
        next_page_token=page[-1] if more else "",
        page_size=size,
        total_size=len(names),
    )


def _selects(asked: ListTasksRequest) -> bool:
    """Whether each task must be looked at to know if it is meant."""
    return asked.status != TaskState.TASK_STATE_UNSPECIFIED or asked.HasField("status_timestamp_after")


def _fits(task: Task, asked: ListTasksRequest) -> bool:
    since = asked.status_timestamp_after
    in_time = not asked.HasField("status_timestamp_after") or (
        (task.status.timestamp.seconds, task.status.timestamp.nanos) >= (since.seconds, since.nanos)
    )
    return in_time and asked.status in (TaskState.TASK_STATE_UNSPECIFIED, task.status.state)


def _after(token: str, names: Sequence[str]) -> int:
    if not token:
        return 0
    if token not in names:
        raise InvalidParamsError(f"{token!r} is no page token of this list")
    return names.index(token) + 1
