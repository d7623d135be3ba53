"""`folkmoot agents`: which agents a project has, and what each is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from folkmoot.cli.call import AsJson, Target, call_of
from folkmoot.cli.complete import agent_files

if TYPE_CHECKING:
    from folkmoot.domain.agent import Agent, Graph

app = typer.Typer(help="Which agents the project has, and what each is.", no_args_is_help=True)


@app.command("list")
def list_agents(context: typer.Context, as_json: AsJson = False) -> None:
    """List the agents of the project.

    \b
    Examples:
      folkmoot agents list
      folkmoot agents list --json
    """
    from folkmoot.cli.output import STYLES, say, write_json, write_table
    from folkmoot.cli.shown import in_one_line
    from folkmoot.engine.admission import status_of, summary

    call = call_of(context)
    graph = call.load(Target(folder=call.folder, agent="")).graph
    if as_json:
        write_json([summary(graph, agent) for agent in graph.agents.values()])
    elif not graph.agents:
        say(f"there is no agent file in {call.folder}; write one, or try `folkmoot init`")
    else:
        write_table(
            ("agent", "status", "works with", "description"),
            (
                (
                    (agent.file, "bold"),
                    (status := status_of(graph, agent), STYLES.get(status, "")),
                    in_one_line(_relations(graph, agent), 45),
                    agent.description,
                )
                for agent in graph.agents.values()
            ),
        )


@app.command()
def show(
    context: typer.Context,
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", help="Its file, or its id.", autocompletion=agent_files)
    ],
    as_json: AsJson = False,
) -> None:
    """Show one agent: whom it works with, its tools and models, its limits, and what it can cost at most.

    \b
    Examples:
      folkmoot agents show front-desk
      folkmoot agents show legal/counsel.ai --json
    """
    from folkmoot.cli.output import write, write_json
    from folkmoot.domain.agent import find_agent
    from folkmoot.engine.admission import document

    call = call_of(context)
    target = call.target(agent)
    graph = call.load(target).graph
    found = find_agent(graph, target.agent)
    if as_json:
        write_json(document(graph, found))
        return
    differing = msgspec.to_builtins  # which leaves out defaults
    for key, value in document(graph, found, differing).items():
        if value not in (None, "", [], {}):
            write(f"{key}: {_text(value)}")


@app.command()
def template() -> None:
    """Print an agent file with every key: `advisors`, `router`, `handoff`, `team`, `chat` and all others.

    \b
    Examples:
      folkmoot agents template > new.ai
    """
    from folkmoot.cli.output import write
    from folkmoot.loader.walk import template as agent_template

    write(agent_template().rstrip("\n"))


def _relations(graph: Graph, agent: Agent) -> str:
    return ", ".join(f"{pattern} {graph.agents[file].id}" for pattern, file in agent.edges)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(inner)}" for key, inner in value.items())
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
