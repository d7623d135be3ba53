"""`folkmoot tasks`: what agents have to do. People see it all, and act for any agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, call_of, finished

if TYPE_CHECKING:
    from folkmoot.coordination.task.desk import AgentTasks
    from folkmoot.coordination.task.opening import NewTask
    from folkmoot.domain.task import Task

    Act = Callable[[AgentTasks, str], Awaitable[Task]]
    """Something done to the tasks of an agent; the text is the id of the task that was named."""

app = typer.Typer(help="What agents have to do.", no_args_is_help=True)

TaskId = Annotated[
    str,
    typer.Argument(
        metavar="TASK",
        help="A task's id, or its beginning. Left out: the current one of --agent.",
        show_default=False,
    ),
]
NamedTask = Annotated[
    str, typer.Argument(metavar="TASK", help="A task's id, or its beginning.", show_default=False)
]
Description = Annotated[str, typer.Argument(metavar="TEXT", help="What is to be done.", show_default=False)]
Owner = Annotated[str, typer.Option("--agent", metavar="AGENT", help="The agent that is meant.")]
Context = Annotated[str, typer.Option("--context", help="What one must know for it.")]
Urgency = Annotated[str, typer.Option("--priority", help="low, medium, high or urgent.")]
Steps = Annotated[list[str] | None, typer.Option("--step", help="What to tick off; may be repeated.")]


@app.command("list")
def list_tasks(
    context: typer.Context,
    agent: Annotated[str, typer.Option("--agent", metavar="AGENT", help="Only its tasks.")] = "",
    status: Annotated[str, typer.Option(help="Only those in this status.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Also what has ended.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "--live", help="Stay, and show what changes; Ctrl-C ends it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List tasks, the most urgent first: of all agents, and only what has not ended.

    With --follow the list stays and is drawn again whenever a task changes; in a pipe each change is one line, with
    --json one document a line.

    \b
    Examples:
      folkmoot tasks list
      folkmoot tasks list --agent coder --status backlog --json
      folkmoot tasks list --live
    """
    from folkmoot.cli.task_board import Wanted, follow_tasks, read_tasks, write_tasks

    wanted = Wanted(agent, status, everything)
    folder = call_of(context).folder
    if follow:
        finished(follow_tasks(folder, wanted, as_json=as_json))
    else:
        write_tasks(finished(read_tasks(folder, wanted)), as_json=as_json)


@app.command()
def show(context: typer.Context, task: NamedTask, as_json: AsJson = False) -> None:
    """Show one task as Markdown, with its steps, progress and outcome.

    \b
    Examples:
      folkmoot tasks show task_1f0a2b
      folkmoot tasks show task_1f0a2b --json
    """
    from folkmoot.cli.output import write, write_json
    from folkmoot.cli.task_board import read_task
    from folkmoot.coordination.task.document import document, step_counts
    from folkmoot.views.task_markdown import markdown

    found = finished(read_task(call_of(context).folder, task))
    if as_json:
        write_json({**document(found), "stepCounts": step_counts(found)})
    else:
        write(markdown(found).rstrip())


@app.command()
def start(  # noqa: PLR0913  # because every option of a command is a parameter
    context: typer.Context,
    description: Description,
    agent: Owner,
    task_context: Context = "",
    priority: Urgency = "medium",
    step: Steps = None,
    requires_approval: Annotated[
        bool, typer.Option("--requires-approval", help="It waits until somebody approves of it.")
    ] = False,
    simple: Annotated[bool, typer.Option("--simple", help="It needs no steps.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start a task for an agent.

    \b
    Examples:
      folkmoot tasks start "Mend the login" --agent coder --step "find it" --step "mend it"
    """
    from folkmoot.coordination.task.opening import NewTask

    _check_priority(priority)
    new = NewTask(description, task_context, priority, requires_approval, simple, tuple(step or ()))
    _create(context, agent, new, as_json, begun=True)


@app.command()
def add(  # noqa: PLR0913  # as above
    context: typer.Context,
    description: Description,
    agent: Owner,
    task_context: Context = "",
    priority: Urgency = "medium",
    step: Steps = None,
    effort: Annotated[str, typer.Option(help="small, medium or large.")] = "",
    start_date: Annotated[str, typer.Option("--start", help="Not before this day or time.")] = "",
    due_date: Annotated[str, typer.Option("--due", help="The day or time by which it should be done.")] = "",
    depends_on: Annotated[
        list[str] | None, typer.Option(metavar="TASK", help="A task to be completed first; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put a task into the backlog of an agent.

    \b
    Examples:
      folkmoot tasks add "Write the release notes" --agent writer --due 2026-02-01 --effort small
    """
    from folkmoot.coordination.task.opening import NewTask

    _check_priority(priority)
    new = NewTask(
        description,
        task_context,
        priority,
        steps=tuple(step or ()),
        estimated_effort=effort,
        start_date=start_date,
        due_date=due_date,
        depends_on=tuple(depends_on or ()),
    )
    _create(context, agent, new, as_json, begun=False)


def _create(context: typer.Context, agent: str, new: NewTask, as_json: bool, *, begun: bool) -> None:
    import secrets

    chance = secrets.token_hex(16)
    make: Act = lambda tasks, _: tasks.start(new, chance) if begun else tasks.add(new, chance)  # noqa: E731
    act_on(context, "", agent, make, as_json)


def act_on(context: typer.Context, named: str, agent: str, act: Act, as_json: bool) -> None:
    from folkmoot.cli.output import write, write_json
    from folkmoot.cli.task_board import acted, line
    from folkmoot.coordination.task.document import document

    task = finished(acted(call_of(context), named, agent, act))
    write_json(document(task)) if as_json else write(line(task))


def _check_priority(said: str) -> None:
    """A person who mistypes one is told; from a model it would count as medium."""
    from folkmoot.domain.task import PRIORITIES
    from folkmoot.errors import WrongUse

    if said not in PRIORITIES:
        raise WrongUse(f"--priority is {', '.join(PRIORITIES)}, not {said!r}")
