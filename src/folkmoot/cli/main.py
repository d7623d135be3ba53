"""The program `folkmoot`: its global options, its commands, and what becomes of errors."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from folkmoot import __version__
from folkmoot.cli.call import GlobalOptions, read_env_file, read_overrides
from folkmoot.cli.commands import Commands, LazyGroup
from folkmoot.cli.failure import report_failure
from folkmoot.errors import NotFound, WrongUse

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

HELP = """Run teams of AI agents declared as Markdown files. Every step is recorded, so a run can be killed and resumed.

The frontmatter of an agent file says how it works with others: `advisors` before it, a `router` or `handoff` after it,
`agents` as tools, a `team` under a lead, `chat` for questions. `folkmoot agents template` prints every key.
"""
EXAMPLES = """\b
Examples:
  folkmoot init desk && cd desk
  folkmoot run front-desk.ai "I was charged twice."
  folkmoot runs show last
"""

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Start here": {
        "init": ("init.init", "Make a project that runs at once, offline, on a scripted model."),
        "check": ("check.check", "Check a project or one agent file; no agent is run."),
        "run": ("run.run", "Run an agent and print its final report."),
        "runs": ("runs.COMMANDS", "List, show, resume, cancel, replay, compare and fork runs."),
        "inbox": ("inbox.INBOX", "Questions and approvals waiting for a person."),
        "test": ("testing.play_scenarios", "Play the scenarios in `*.test.yaml` files."),
        "serve": ("serve.serve", "Serve the page and the API of a project, until Ctrl-C."),
        "trust": ("trust.trust", "Show what a project wants to do on this machine, and allow it."),
        "doctor": ("doctor.doctor", "Look for what is missing or broken, and for models on this machine."),
        "docs": ("docs.docs", "Read the documentation: contents, one page or section, or search."),
    },
    "Agents": {
        "agents": ("agents.COMMANDS", "List and show the agents of the project; print a template."),
        "graph": ("check.graph", "Draw which agents work with which, and how."),
        "explain": ("agents.ExplainAgent", "Explain what an agent may call, and why."),
        "config": ("check.CONFIG", "Show the settings, and where each comes from."),
        "sessions": ("sessions.COMMANDS", "List agent sessions; take tools from one; close one."),
        "approvals": ("inbox.APPROVALS", "Approve, deny and revoke calls: the inbox, filtered."),
    },
    "Work that outlives a run": {
        "collaborate": ("collaborate.collaborate", "Let a team of agents reach a goal."),
        "tasks": ("tasks.COMMANDS", "Add, start, block, complete and list tasks of agents."),
        "plans": ("plans.COMMANDS", "Draft, review, approve and carry out plans."),
        "decisions": ("decisions.COMMANDS", "Propose, vote on and commit decisions."),
        "work": ("work_sessions.COMMANDS", "Open, pause, complete and show work sessions."),
        "conversations": ("conversations.COMMANDS", "Show what agents wrote to each other."),
        "team": ("agents.ShowTeam", "Show each agent's role, task, last activity and failures."),
        "watch": ("worker.watch", "Keep tasks moving that nobody works on."),
    },
    "Journal": {
        "events": ("log.ListEvents", "Find events, the newest last."),
        "verify": ("log.verify", "Check the guarantees C1 to C7 on what is recorded."),
        "log": ("log.LOG", "Export the journal for programs."),
        "journal": ("journal.COMMANDS", "Back up, import, adopt and rebuild the journal."),
        "projections": ("journal.projections", "Write the files of tasks, plans and decisions anew."),
    },
    "Operate": {
        "worker": ("worker.worker", "Continue the runs of a project whose journal is in PostgreSQL."),
        "mcp": ("serve.mcp", "Offer the agents of this project to an MCP client, on stdin and stdout."),
        "sinks": ("sinks.COMMANDS", "Send events to files, Discord, webhooks and OpenTelemetry."),
    },
}
"""By heading of `--help`: what each command is made of, and its summary."""


class Program(LazyGroup):
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = Commands({name: made for group in GROUPS.values() for name, made in group.items()})

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, summary) for name, (_, summary) in commands.items()])


app = typer.Typer(
    name="folkmoot",
    cls=Program,
    help=HELP,
    epilog=EXAMPLES,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(arguments: Sequence[str] | None = None, platform: str = sys.platform) -> int:
    """The exit code; whatever goes wrong has been said by then."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if platform == "win32":
        print("Folkmoot runs on Linux and macOS; on Windows, use it inside WSL", file=sys.stderr)
        return 2
    _make_streams_usable()
    try:
        return _run_command(given)
    except OSError:  # nobody reads stdout any more, or there is no room for it
        _redirect_to_devnull(sys.stdout.fileno())
        return 1


def _run_command(given: list[str]) -> int:
    program = _build_program()
    if "_FOLKMOOT_COMPLETE" in os.environ:  # a shell asks what could come next
        program.main(prog_name="folkmoot")
    try:
        with program.make_context("folkmoot", move_global_options_first(given)) as context:
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
def _build_program() -> Any:
    """Made once: a process that calls `main` for many commands would spend most of its time on this."""
    return typer.main.get_command(app)


def move_global_options_first(arguments: list[str]) -> list[str]:
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
            metavar="DIR", help="The project's folder (default: the nearest parent with folkmoot.yaml)."
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Override a setting (highest precedence); may be repeated."
        ),
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
    context.obj = GlobalOptions(project=project, overrides=read_overrides(overrides or []), verbose=verbose)


def _log_to(path: Path) -> None:
    import logging

    try:
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise WrongUse(f"--log-file {str(path)!r} cannot be written: {error.strerror}") from None
    logging.basicConfig(
        handlers=[handler], level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )


def _make_streams_usable() -> None:
    """One that is closed leads nowhere; one that cannot write a character spells it out instead of failing."""
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = os.open(
                os.devnull, os.O_RDWR
            )  # never closed: a file would get its number, and what is said
            setattr(sys, name, os.fdopen(nowhere, "r" if name == "stdin" else "w", closefd=False))
        elif hasattr(stream, "reconfigure") and name != "stdin":
            stream.reconfigure(errors="backslashreplace")
    sys.stderr = _wrap_stderr(sys.stderr)


def _redirect_to_devnull(stream: int) -> None:
    """Its reader has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


class _FallbackStream(io.FileIO):
    """What is told beside a run cannot end the run: neither a reader that leaves nor a disk that is full."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError:
            _redirect_to_devnull(self.fileno())
            return super().write(data)


def _wrap_stderr(stream: TextIO) -> TextIO:
    """Without a buffer, because a signal handler may write in the middle of a write."""
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)
    if not isinstance(raw, io.FileIO):  # no stream of the system
        return stream
    lasting = _FallbackStream(raw.fileno(), "w", closefd=False)
    return io.TextIOWrapper(lasting, stream.encoding, "backslashreplace", write_through=True)
