"""What may be done with a task, and what comes of it. Pure: each gives the events of a change or refuses with
`WrongUse`, which names the state and the remedy."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from folkmoot.coordination.task.document import whole
from folkmoot.coordination.task.stepping import Stepping, begun, stepped
from folkmoot.domain import task as happened
from folkmoot.domain.entry import Event
from folkmoot.domain.task import Blocking, Cancelled, Completed, Failed, Task, TaskStatus, TaskStep
from folkmoot.errors import BAD_VALUE, NotFound, WrongUse

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
