"""The steps of a task: what each action makes of them. Pure; refuses with `WrongUse`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from folkmoot.domain.task import StepAction, StepStatus, Task, TaskStep
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
