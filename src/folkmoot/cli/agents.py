"""`folkmoot agents`, `explain` and `team`: which agents a project has, what each is and may call, and how it stands."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from typing import Annotated, Any

import msgspec
import typer

from folkmoot.cli.call import GlobalOptions, run_async
from folkmoot.cli.commands import TerminalOptions
from folkmoot.cli.output import (
    STYLES,
    Cell,
    console,
    format_local_time,
    format_one_line,
    write,
    write_json,
    write_stderr,
    write_table,
)
from folkmoot.cli.project import open_for_operation
from folkmoot.domain.agent import Member
from folkmoot.engine.admission import build_agent_document, find_agent_status
from folkmoot.engine.history import last_position
from folkmoot.errors import WrongUse
from folkmoot.loader.walk import template as agent_template
from folkmoot.operations.actor import by_account
from folkmoot.operations.agents import AgentOfGraph, ExplainAgent, ListAgents, ShowAgent, ShowTeam
from folkmoot.operations.operation import Operation
from folkmoot.orchestration.briefs import Explanation

_TEAM = ("agent", "role", "status", "heartbeat", "failures", "left alone until", "task")


def present(operation: Operation[Any], output: Any) -> None:
    match operation:
        case ExplainAgent():
            _write_explanation(output)
        case ShowTeam():
            write_table(_TEAM, map(_member_cells, output))
        case ShowAgent():
            differing = msgspec.to_builtins  # which leaves out defaults
            for key, value in build_agent_document(output.graph, output.agent, differing).items():
                if value not in (None, "", [], {}):
                    write(f"{key}: {_format_value(value)}")
        case ListAgents() if output:
            write_table(("agent", "status", "works with", "description"), map(_cells, output))
        case _:
            write_stderr("there is no agent file here; write one, or try `folkmoot init`")


def _cells(each: AgentOfGraph) -> tuple[Cell, ...]:
    graph, agent = each.graph, each.agent
    status = find_agent_status(graph, agent)
    relations = ", ".join(f"{pattern} {graph.agents[file].id}" for pattern, file in agent.edges)
    return (
        (agent.file, "bold"),
        (status, STYLES.get(status, "")),
        format_one_line(relations, 45),
        agent.description,
    )


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_format_value(inner)}" for key, inner in value.items())
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _write_explanation(explained: Explanation) -> None:
    write(explained.formula, "dim")
    for each in explained.tools:
        write(f"{each.tool}  ({each.access}, {each.effect})", "bold")
        write(f"  has it:   {each.because}")
        if not each.allowlisted:
            write("  but not:  where it was called by call_agent (sub_agent_tool_allowlist)")
        for rule in each.rules:
            write(f"  {rule}")
        write(f"  then:     {each.beyond or 'made without a word'}")
    write(f"system tools: {', '.join(explained.system)}")
    if explained.decision:
        styles = {"allow": "green", "ask": "yellow", "refuse": "bold red"}
        write(f"{explained.decision}: {explained.reason}", styles[explained.decision])


def _member_cells(member: Member) -> tuple[Cell, ...]:
    failures = f"{member.consecutive_failures} ({member.last_failure_reason})"
    return (
        member.agent_id,
        member.role,
        (member.status, STYLES.get(member.status, STYLES["running"] if member.status == "active" else "dim")),
        format_local_time(member.last_heartbeat) if member.last_heartbeat else "never",
        failures if member.consecutive_failures else "",
        format_local_time(member.backoff_until) if member.backoff_until else "",
        member.current_task_id,
    )


def _read_call_arguments(
    args: Annotated[
        str, typer.Option("--args", metavar="JSON", help="With TOOL: what the gate says to this call.")
    ] = "",
) -> dict[str, Any]:
    """With `--args` the gate judges that very call, in a session that has read nothing yet. Exit code 0 if it would be
    made, 6 if somebody would be asked, 1 if it would be refused."""
    if not args:
        return {}
    try:
        arguments = json.loads(args)
    except ValueError as error:
        raise WrongUse(f"`--args` is no JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise WrongUse('`--args` must be a JSON object, such as \'{"path": "a.txt"}\'')
    return {"arguments": arguments}


def _read_live_option(
    live: Annotated[
        bool, typer.Option("--live", help="Stay, and show what changes; Ctrl-C ends it.")
    ] = False,
) -> dict[str, Any]:
    """With --live and --json each state is one document a line."""
    return {}


def _follow_team(call: GlobalOptions, wanted: ShowTeam, as_json: bool, *, live: bool) -> None:
    run_async(_show_changes(call, wanted, as_json))


async def _show_changes(call: GlobalOptions, wanted: ShowTeam, as_json: bool) -> None:
    """Now, and after whatever happens."""
    async with open_for_operation(call, wanted) as project:
        position = await last_position(project.journal)
        shown = await _show_team(wanted, project, None, as_json)
        with suppress(asyncio.CancelledError):
            async for _ in project.journal.follow(position):
                shown = await _show_team(wanted, project, shown, as_json)


async def _show_team(
    wanted: ShowTeam, project: Any, shown: list[Member] | None, as_json: bool
) -> list[Member]:
    members = await wanted.run(project, by_account("terminal"))
    if members != shown:
        if sys.stdout.isatty() and not as_json:
            console().clear()
        write_json(wanted.terminal_document(members)) if as_json else present(wanted, members)
        sys.stdout.flush()
    return members


def template() -> None:
    """Print an agent file with every key: `advisors`, `router`, `handoff`, `team`, `chat` and all others.

    \b
    Examples:
      folkmoot agents template > new.ai
    """
    write(agent_template().rstrip("\n"))


COMMANDS = (ListAgents, ShowAgent, template)
TERMINAL_OPTIONS = {
    ExplainAgent: TerminalOptions(_read_call_arguments),
    ShowTeam: TerminalOptions(_read_live_option, _follow_team),
}
