"""`folkmoot mcp`: the agents of a project as tools of an MCP client, over stdin and stdout."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer

from folkmoot.app import Folkmoot
from folkmoot.cli.call import Call, call_of
from folkmoot.cli.complete import agent_files
from folkmoot.cli.interrupt import run_interruptibly
from folkmoot.cli.output import say
from folkmoot.errors import WrongUse


def mcp(
    context: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="AGENT",
            help="Offer only this agent, by its file or id; may be repeated.",
            autocompletion=agent_files,
        ),
    ] = None,
) -> None:
    """Clients start this program themselves: give them the command, as docs/mcp-server.md shows. Every agent is a tool,
    every run and its report a resource. stdout carries the protocol alone; what is for people goes to stderr. It ends
    when the client does, or with Ctrl-C, and cancels the runs that are under way.

    \b
    Examples:
      folkmoot mcp
      folkmoot mcp --agent front-desk.ai --agent billing
      folkmoot --project ~/desk mcp
    """

    run_interruptibly(
        _serve(call_of(context), agents or []),
        first=lambda: say("stopping; once more to leave at once"),
        second=lambda: None,
    )


async def _serve(call: Call, agents: list[str]) -> None:

    try:
        from folkmoot.protocols.mcp import mcp_server
        from folkmoot.protocols.mcp_stdio import serve_stdio
    except ImportError as error:
        raise WrongUse(f"{error}; install what it needs with: pip install 'folkmoot[mcp]'") from None
    with redirect_stdout(sys.stderr):  # what modules of the project print when they are loaded is no protocol
        async with Folkmoot.open(call.folder, overrides=call.overrides) as moot:
            server = mcp_server(moot, agents)
            say(f"the agents of {call.folder} are tools now; Ctrl-C ends it")
            await serve_stdio(server)
