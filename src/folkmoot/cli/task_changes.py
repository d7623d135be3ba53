"""`folkmoot tasks pick`, `update`, `complete`, …: what a person does to a task, for its agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson
from folkmoot.cli.tasks import NamedTask, Owner, TaskId, act_on

if TYPE_CHECKING:
    from folkmoot.domain.task_events import StepAction


def add_to(app: typer.Typer) -> None:
    for command in (pick, update, complete, cancel, fail, approve, block, resume):
        app.command()(command)


def pick(context: typer.Context, task: TaskId = "", agent: Owner = "", as_json: AsJson = False) -> None:
    """Take a task from the backlog: the one that is named, or the most urgent of an agent.

    \b
    Examples:
      folkmoot tasks pick --agent coder
      folkmoot tasks pick task_1f0a2b
    """
    act_on(context, task, agent, lambda tasks, id: tasks.pick(id), as_json)


def update(  # noqa: PLR0913  # because every option of a command is a parameter
    context: typer.Context,
    task: TaskId = "",
    agent: Owner = "",
    progress: Annotated[str, typer.Option(help="A note.")] = "",
    complete_step: Annotated[str, typer.Option(metavar="STEP", help="It is done; the next begins.")] = "",
    start_step: Annotated[str, typer.Option(metavar="STEP", help="It is under way now.")] = "",
    skip_step: Annotated[str, typer.Option(metavar="STEP", help="It is left out.")] = "",
    add_step: Annotated[str, typer.Option(metavar="TEXT", help="One more step.")] = "",
    set_steps: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="All steps anew; repeat it for each.")
    ] = None,
    order: Annotated[str, typer.Option(metavar="STEPS", help="A new order, such as s2,s1.")] = "",
    as_json: AsJson = False,
) -> None:
    """Note progress on a task, or change its steps; one change of the steps at a time.

    \b
    Examples:
      folkmoot tasks update --agent coder --progress "found it"
      folkmoot tasks update task_1f0a2b --complete-step s1
      folkmoot tasks update task_1f0a2b --order s3,s1,s2
    """
    from folkmoot.coordination.task.stepping import Stepping
    from folkmoot.errors import WrongUse

    named: dict[StepAction, str] = {
        "complete_step": complete_step,
        "start_step": start_step,
        "skip_step": skip_step,
    }
    steppings = [Stepping(action, step) for action, step in named.items() if step]
    steppings += [Stepping("add_step", content=add_step)] if add_step else []
    steppings += [Stepping("set_steps", steps=tuple(set_steps))] if set_steps else []
    steppings += [Stepping("reorder_steps", order=tuple(order.split(",")))] if order else []
    if len(steppings) > 1:
        raise WrongUse("one change of the steps at a time; call it once for each")
    stepping = steppings[0] if steppings else None
    act_on(context, task, agent, lambda tasks, id: tasks.update(id, progress, stepping), as_json)


def complete(
    context: typer.Context,
    task: TaskId = "",
    agent: Owner = "",
    summary: Annotated[str, typer.Option(help="What came of it.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Also with open steps.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say that a task is done. It is refused while steps are open.

    \b
    Examples:
      folkmoot tasks complete --agent coder --summary "mended in 3 places"
    """
    act_on(context, task, agent, lambda tasks, id: tasks.complete(id, summary, force=force), as_json)


def cancel(
    context: typer.Context,
    task: NamedTask,
    reason: Annotated[str, typer.Option(help="Kept with the task.")] = "cancelled by a person",
    as_json: AsJson = False,
) -> None:
    """Give a task up for good.

    \b
    Examples:
      folkmoot tasks cancel task_1f0a2b --reason "the customer left"
    """
    act_on(context, task, "", lambda tasks, id: tasks.cancel(id, reason), as_json)


def fail(
    context: typer.Context,
    task: NamedTask,
    error: Annotated[str, typer.Option(help="What went wrong.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Say that a task could not be done: it ends as interrupted, with the error as its outcome.

    \b
    Examples:
      folkmoot tasks fail task_1f0a2b --error "the server is gone"
    """
    act_on(context, task, "", lambda tasks, id: tasks.fail(id, error), as_json)


def approve(context: typer.Context, task: NamedTask, as_json: AsJson = False) -> None:
    """Approve of a task that waits for it.

    \b
    Examples:
      folkmoot tasks approve task_1f0a2b
    """
    act_on(context, task, "", lambda tasks, id: tasks.approve(id), as_json)


def block(  # noqa: PLR0913  # as above
    context: typer.Context,
    reason: Annotated[str, typer.Option(help="What it waits for.", show_default=False)],
    by: Annotated[
        list[str], typer.Option(metavar="AGENT", help="Who can help; may be repeated.", show_default=False)
    ],
    task: TaskId = "",
    agent: Owner = "",
    action: Annotated[str, typer.Option(help="What they should do.")] = "",
    as_json: AsJson = False,
) -> None:
    """Say that a task cannot go on without others.

    \b
    Examples:
      folkmoot tasks block --agent coder --reason "no key" --by boss --action "send the key"
    """
    from folkmoot.domain.task import Blocking

    blocking = Blocking(reason, tuple(by), action)
    act_on(context, task, agent, lambda tasks, id: tasks.block(blocking, id), as_json)


def resume(context: typer.Context, task: TaskId = "", agent: Owner = "", as_json: AsJson = False) -> None:
    """Go on with a task that was blocked.

    \b
    Examples:
      folkmoot tasks resume --agent coder
    """
    act_on(context, task, agent, lambda tasks, id: tasks.resume(id), as_json)
