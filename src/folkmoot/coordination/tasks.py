"""What may be done with a task and its steps. Pure: each gives the events of a change or refuses with
`WrongUse`, which names the state and the remedy."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime
from typing import Any

from msgspec.structs import replace

from folkmoot.coordination.task_lists import Tasks, busy, objection, whole
from folkmoot.domain import task as happened
from folkmoot.domain.entry import Event
from folkmoot.domain.task import (
    Backlog,
    Blocking,
    Cancelled,
    Completed,
    Effort,
    Failed,
    Priority,
    StepAction,
    StepStatus,
    Task,
    TaskStatus,
    TaskStep,
)
from folkmoot.domain.value import Value
from folkmoot.errors import BAD_VALUE, NotFound, WrongUse

Steps = tuple[TaskStep, ...]


class Stepping(Value):
    """What is to be done with the steps of a task."""

    action: StepAction
    step_id: str = ""
    content: str = ""
    steps: tuple[str, ...] = ()
    """What all steps are to be from here on."""
    order: tuple[str, ...] = ()
    """Ids in their new order; whoever is left out comes after."""


def stepped(task: Task, wanted: Stepping) -> Steps:
    """The steps after an action. While a task is worked on, one of its open steps always is."""
    steps = _changed(task, wanted)
    return begun(steps) if task.status == "in_progress" else steps


def listed(contents: Sequence[str]) -> Steps:
    """New steps, none of them begun."""
    if any(not content.strip() for content in contents):
        raise WrongUse("a step is empty; say in each what is to be done", code=BAD_VALUE)
    return tuple(TaskStep(f"s{n}", content.strip(), n) for n, content in enumerate(contents, 1))


def begun(steps: Steps) -> Steps:
    """With the first pending step begun, unless another one is."""
    if any(step.status == "in_progress" for step in steps):
        return steps
    first = next((step for step in steps if step.status == "pending"), None)
    return _with(steps, first, "in_progress") if first else steps


def _changed(task: Task, wanted: Stepping) -> Steps:
    match wanted.action:
        case "set_steps":
            if not wanted.steps:
                raise WrongUse("set_steps needs `steps`, a list of texts", code=BAD_VALUE)
            return listed(wanted.steps)
        case "add_step":
            return _added(task.steps, wanted.content)
        case "reorder_steps":
            return _reordered(task, wanted.order)
        case "complete_step":
            return _with(task.steps, _named(task, wanted.step_id), "done")
        case "skip_step":
            return _with(task.steps, _named(task, wanted.step_id), "skipped")
        case "start_step":
            return _started(task, wanted.step_id)
        case _:
            raise NotFound(
                f"there is no action {wanted.action!r}; there are {', '.join(ACTIONS)}",
                code="action_not_found",
            )


ACTIONS: tuple[StepAction, ...] = (
    "set_steps", "add_step", "complete_step", "start_step", "skip_step", "reorder_steps",
)  # fmt: skip


def _added(steps: Steps, content: str) -> Steps:
    if not content.strip():
        raise WrongUse("add_step needs `step_content`, what is to be done", code=BAD_VALUE)
    number = max((int(step.id[1:]) for step in steps), default=0) + 1
    return (*steps, TaskStep(f"s{number}", content.strip(), len(steps) + 1))


def _started(task: Task, id: str) -> Steps:
    """Whatever was under way is pending again."""
    wanted = _named(task, id)
    waiting = tuple(
        replace(step, status="pending") if step.status == "in_progress" else step for step in task.steps
    )
    return _with(waiting, wanted, "in_progress")


def _reordered(task: Task, order: tuple[str, ...]) -> Steps:
    if not order:
        raise WrongUse(f"reorder_steps needs `steps_order`; the steps are {_ids(task)}", code=BAD_VALUE)
    if len(set(order)) < len(order):
        raise WrongUse(f"steps_order names a step twice: {', '.join(order)}", code=BAD_VALUE)
    front = [_named(task, id) for id in order]
    rest = [step for step in task.steps if step.id not in order]
    return tuple(replace(step, order=n) for n, step in enumerate((*front, *rest), 1))


def _named(task: Task, id: str) -> TaskStep:
    found = next((step for step in task.steps if step.id == id), None)
    if found is None and id:
        raise NotFound(
            f"there is no step {id!r} in {task.id}; its steps are {_ids(task)}", code="step_not_found"
        )
    if found is None:
        raise WrongUse(f"this action needs `step_id`; its steps are {_ids(task)}", code=BAD_VALUE)
    return found


def _ids(task: Task) -> str:
    return ", ".join(step.id for step in task.steps) or "none yet: set them with set_steps"


def _with(steps: Steps, wanted: TaskStep, status: StepStatus) -> Steps:
    return tuple(replace(step, status=status) if step.id == wanted.id else step for step in steps)


_REMEDIES: dict[TaskStatus, str] = {
    "pending": "start it first",
    "pending_approval": "it must be approved first (task_approve)",
    "in_progress": "it is being worked on already",
    "blocked": "resume it first (task_resume)",
    "backlog": "pick it from the backlog first (task_pick_backlog)",
    "completed": "it has ended; start a new one (task_start)",
    "cancelled": "it has ended; start a new one (task_start)",
    "interrupted": "it has ended; start a new one (task_start)",
}


class StopGuard(WrongUse):
    """A task with open steps is not complete."""

    def __init__(self, task: Task) -> None:
        self.task_id = task.id
        self.remaining: tuple[TaskStep, ...] = task.open_steps
        named = "; ".join(f"{step.id} ({step.status}) {step.content}" for step in self.remaining)
        super().__init__(
            f"stop_guard: {task.id} is {task.status} and has open steps: {named}."
            " Complete or skip them (task_update), or insist with force_complete",
            code="steps_open",
        )

    @property
    def document(self) -> dict[str, Any]:
        """What an agent reads."""
        return {
            "success": False,
            "task_id": self.task_id,
            "blocked_by": "stop_guard",
            "remaining": [whole(step) for step in self.remaining],
            "error": str(self),
        }


def update(task: Task, progress: str = "", stepping: Stepping | None = None) -> Sequence[Event]:
    if task.has_ended:
        raise _refused(task, "updated")
    if not progress.strip() and stepping is None:
        raise WrongUse("an update needs `progress`, or an `action` on the steps", code=BAD_VALUE)
    if stepping is None:
        return [happened.TaskUpdated(task.status, progress.strip())]
    steps = stepped(task, stepping)
    return [
        happened.TaskUpdated(task.status, progress.strip(), stepping.action, stepping.step_id, steps=steps)
    ]


def complete(task: Task, summary: str, *, force: bool = False) -> Sequence[Event]:
    _must_be(task, "in_progress", "completed")
    if task.open_steps and not force:
        raise StopGuard(task)
    left = tuple(step.id for step in task.open_steps)
    return [happened.TaskCompleted("completed", Completed(summary), left)]


def cancel(task: Task, reason: str) -> Sequence[Event]:
    if task.has_ended:
        raise _refused(task, "cancelled")
    return [happened.TaskCancelled("cancelled", Cancelled(reason))]


def fail(task: Task, error: str) -> Sequence[Event]:
    """Its work ended with an error: interrupted, with that outcome."""
    if task.has_ended:
        raise _refused(task, "given up")
    return [happened.TaskFailed("interrupted", Failed(error))]


def approve(task: Task) -> Sequence[Event]:
    _must_be(task, "pending_approval", "approved")
    return [happened.TaskApproved("in_progress", begun(task.steps))]


def block(task: Task, blocking: Blocking, agents: Collection[str]) -> Sequence[Event]:
    _must_be(task, "in_progress", "blocked")
    if not blocking.blocked_reason.strip():
        raise WrongUse("a task is blocked for a `reason`; say what it waits for", code=BAD_VALUE)
    if not blocking.unblocked_by:
        raise WrongUse(
            f"`unblock_by` is empty; name agents that can help: {_others(task, agents)}", code=BAD_VALUE
        )
    for agent in blocking.unblocked_by:
        if agent == task.agent_id:
            raise WrongUse(
                f"{agent} cannot unblock its own task; name others: {_others(task, agents)}", code=BAD_VALUE
            )
        known(agent, agents)
    named = tuple(dict.fromkeys(blocking.unblocked_by))
    fresh = Blocking(blocking.blocked_reason.strip(), named, blocking.unblocked_action)
    return [happened.TaskBlocked("blocked", fresh)]


def resume(task: Task) -> Sequence[Event]:
    _must_be(task, "blocked", "resumed")
    return [happened.TaskResumed("in_progress")]


def pick(tasks: Tasks, task: Task, now: str, work_session: str) -> Sequence[Event]:
    if task.status != "backlog":
        raise WrongUse(f"{task.id} is {task.status} and not in the backlog; pick one that is")
    if why := busy(tasks, task.agent_id) or objection(tasks, task, now):
        raise WrongUse(why)
    return [happened.TaskBacklogPicked("in_progress", begun(task.steps), work_session)]


def known(agent: str, agents: Collection[str]) -> str:
    if agent not in agents:
        raise NotFound(
            f"there is no agent {agent!r}; known are {', '.join(sorted(agents))}", code="agent_not_found"
        )
    return agent


def _must_be(task: Task, status: TaskStatus, wanted: str) -> None:
    if task.status != status:
        raise _refused(task, wanted)


def _refused(task: Task, wanted: str) -> WrongUse:
    return WrongUse(f"{task.id} is {task.status} and cannot be {wanted}: {_REMEDIES[task.status]}")


def _others(task: Task, agents: Collection[str]) -> str:
    return ", ".join(sorted({*agents} - {task.agent_id})) or "there is no other agent"


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


def backlogged(new: NewTask, bare: Task, agents: Collection[str], missing: Sequence[str]) -> Task:
    """In the backlog of the assignee, who need not be the one that asks for it. `missing`: tasks that do not exist."""
    owner = known(new.assignee, agents) if new.assignee else bare.agent_id
    if missing:
        raise WrongUse(f"`depends_on` names {missing[0]!r}, and there is no such task", code=BAD_VALUE)
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
