"""How a task comes into being: what its author says about it, checked. Pure; refuses with `WrongUse`."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime

from msgspec.structs import replace

from folkmoot.coordination.task.deciding import known
from folkmoot.coordination.task.stepping import begun, listed
from folkmoot.domain.task import Backlog, Effort, Priority, Task
from folkmoot.domain.value import Value
from folkmoot.errors import BAD_VALUE, WrongUse


class NewTask(Value):
    """A task as its author wants it."""

    description: str
    context: str = ""
    priority: Priority = "medium"
    requires_approval: bool = False
    simple: bool = False
    steps: tuple[str, ...] = ()
    estimated_effort: Effort = ""
    start_date: str = ""
    due_date: str = ""
    depends_on: tuple[str, ...] = ()
    assignee: str = ""
    """Another agent that is asked to do it; empty: the agent itself."""


def started(new: NewTask, bare: Task) -> Task:
    """`bare` says whose task it is, who asks for it, when and where."""
    task = _described(new, bare)
    if new.requires_approval:
        return replace(task, status="pending_approval")
    return replace(task, status="in_progress", steps=begun(task.steps))


def backlogged(new: NewTask, bare: Task, agents: Collection[str], tasks: Collection[str]) -> Task:
    """In the backlog of the assignee, who need not be the one that asks for it."""
    owner = known(new.assignee, agents) if new.assignee else bare.agent_id
    for other in new.depends_on:
        if other not in tasks:
            raise WrongUse(f"`depends_on` names {other!r}, and there is no such task", code=BAD_VALUE)
    backlog = Backlog(
        assignee=owner,
        depends_on=tuple(dict.fromkeys(new.depends_on)),
        estimated_effort=new.estimated_effort,
        start_date=_date("start_date", new.start_date),
        due_date=_date("due_date", new.due_date),
    )
    return replace(_described(new, bare), status="backlog", agent_id=owner, backlog=backlog)


def _described(new: NewTask, bare: Task) -> Task:
    if not new.description.strip():
        raise WrongUse("a task needs a `description`; say what is to be done", code=BAD_VALUE)
    return replace(
        bare,
        description=new.description.strip(),
        context=new.context.strip(),
        priority=new.priority,
        simple=new.simple,
        steps=listed(new.steps),
    )


def _date(field: str, said: str) -> str:
    """A day stays a day; a time is kept as the clock writes it, so that texts can be compared."""
    if not said:
        return ""
    try:
        if len(said) == len("2026-01-31"):
            return date.fromisoformat(said).isoformat()
        at = datetime.fromisoformat(said)
    except ValueError:
        raise WrongUse(
            f"`{field}` is a day such as 2026-01-31 or a time in ISO 8601, not {said!r}", code=BAD_VALUE
        ) from None
    utc = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")
