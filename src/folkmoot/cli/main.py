"""The program `folkmoot`: its global options, its commands, and what becomes of errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from folkmoot import __version__
from folkmoot.cli import (
    agents,
    check,
    collaborate,
    config,
    conversations,
    docs,
    doctor,
    events,
    explain,
    gating,
    graph,
    inbox,
    init,
    journal,
    log,
    mcp,
    plan_run,
    projections,
    replaying,
    run,
    runs,
    serve,
    sessions,
    sinks,
    streams,
    team,
    testing,
    trust,
    verify,
    watch,
    work,
    worker,
)
from folkmoot.cli.call import Call, read_env_file, read_overrides
from folkmoot.cli.commands import make_group
from folkmoot.cli.failure import report_failure
from folkmoot.errors import NotFound, WrongUse

HELP = """Run teams of AI agents that are declared as plain files; every step is recorded.

An agent is a Markdown file `name.ai`. Its frontmatter says how it works with others: `advisors` are consulted
before it, a `router` may pass the request on, a `handoff` answers after it, `agents` are its tools, a `team`
works under a lead, and `chat` keeps it for questions. `folkmoot agents template` prints every key.
"""
EXAMPLES = """\b
Examples:
  folkmoot init desk && cd desk
  folkmoot run front-desk.ai "I was charged twice."
  folkmoot runs show last
"""

app = typer.Typer(
    name="folkmoot",
    help=HELP,
    epilog=EXAMPLES,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(init.init)
app.command()(check.check)
app.command()(run.run)
app.command("test")(testing.play_scenarios)
app.command()(collaborate.collaborate)
replaying.add_to(runs.app)
gating.add_to(sessions.app)
app.add_typer(runs.app, name="runs")
app.add_typer(sessions.app, name="sessions")
app.add_typer(make_group("tasks", "task_board", "What agents have to do."), name="tasks")
sessions.app.command("work")(work.list_work)
app.add_typer(work.app, name="work")
app.add_typer(conversations.app, name="conversations")
app.add_typer(inbox.app, name="inbox")
app.add_typer(inbox.approvals, name="approvals")
app.add_typer(
    make_group("decisions", "deciding", "What agents and people decide together."), name="decisions"
)
plans = make_group("plan_steps", "planning", "What agents and people set out to do together.")
plans.command()(plan_run.run)
app.add_typer(plans, name="plans")
app.add_typer(agents.app, name="agents")
app.add_typer(config.app, name="config")
app.add_typer(log.app, name="log")
app.command()(events.events)
app.command()(projections.projections)
app.command()(verify.verify)
app.add_typer(journal.app, name="journal")
app.command()(explain.explain)
app.command()(graph.graph)
app.command()(trust.trust)
app.command()(serve.serve)
app.command()(worker.worker)
app.command()(mcp.mcp)
app.add_typer(sinks.app, name="sinks")
app.command()(watch.watch)
app.command()(team.team)
app.command()(doctor.doctor)
app.command()(docs.docs)


def main(arguments: Sequence[str] | None = None, platform: str = sys.platform) -> int:
    """The exit code; whatever goes wrong has been said by then."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if platform == "win32":
        print("Folkmoot runs on Linux and macOS; on Windows, use it inside WSL", file=sys.stderr)
        return 2
    streams.make_usable()
    try:
        return _carry_out(given)
    except OSError:  # nobody reads stdout any more, or there is no room for it
        streams.lead_nowhere(sys.stdout.fileno())
        return 1


def _carry_out(given: list[str]) -> int:
    program = _program()
    if "_FOLKMOOT_COMPLETE" in os.environ:  # a shell asks what could come next
        program.main(prog_name="folkmoot")
    try:
        with program.make_context("folkmoot", hoisted(given)) as context:
            code = program.invoke(context) or 0
            sys.stdout.flush()
            return code
    except typer.Exit as left:
        return left.exit_code
    except (BrokenPipeError, SystemExit):
        raise
    except BaseException as error:  # a cancellation that nobody asked for, too
        return report_failure(error, given)


@cache
def _program() -> Any:
    """Made once: a process that calls `main` for many commands would spend most of its time on this."""
    return typer.main.get_command(app)


def hoisted(arguments: list[str]) -> list[str]:
    """Global options work after the command too: they are moved before it."""
    front: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            return [*front, *rest, "--", *waiting]
        if argument in ("-v", "--verbose"):
            front.append(argument)
        elif argument in _WITH_VALUE:
            front += [argument, *(value for value in [next(waiting, None)] if value is not None)]
        elif argument.startswith(tuple(f"{option}=" for option in _WITH_VALUE)):
            front.append(argument)
        else:
            rest.append(argument)
    return front + rest


_WITH_VALUE = ("--project", "--log-file", "--env-file", "--set")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"folkmoot {__version__}")
        raise typer.Exit


@app.callback()
def _options(  # noqa: PLR0913  # because every global option is a parameter
    context: typer.Context,
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The project; otherwise the nearest folder upwards with folkmoot.yaml."
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting above all files; may be repeated."),
    ] = None,
    env_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read environment variables, such as keys, from FILE.")
    ] = None,
    log_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append what happens, and tracebacks, to FILE.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every step, and tracebacks.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    if project and not project.is_dir():
        raise NotFound(
            f"there is no folder {str(project)!r}; name the folder of a project", code="folder_not_found"
        )
    if log_file:
        _log_to(log_file)
    if env_file:
        for name, value in read_env_file(env_file).items():
            os.environ.setdefault(name, value)
    context.obj = Call(project=project, overrides=read_overrides(overrides or []), verbose=verbose)


def _log_to(path: Path) -> None:
    import logging

    try:
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise WrongUse(f"--log-file {str(path)!r} cannot be written: {error.strerror}") from None
    logging.basicConfig(
        handlers=[handler], level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
