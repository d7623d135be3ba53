"""`folkmoot explain`: what an agent may call, and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, call_of
from folkmoot.cli.complete import agent_files

if TYPE_CHECKING:
    from folkmoot.domain.message import ToolCall
    from folkmoot.orchestration.briefs import Explanation


def explain(
    context: typer.Context,
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", help="Its file, or its id.", autocompletion=agent_files)
    ],
    tool: Annotated[
        str, typer.Argument(metavar="[TOOL]", help="One of its tools, as agent files name it.")
    ] = "",
    args: Annotated[
        str, typer.Option("--args", metavar="JSON", help="With TOOL: what the gate says to this call.")
    ] = "",
    as_json: AsJson = False,
) -> int:
    """Explain what an agent may call, and why: its tools, the rules about them, and when a call asks first.

    With `--args` the gate judges that very call, in a session that has read nothing yet. Exit code 0 if it would be
    made, 6 if somebody would be asked, 1 if it would be refused.

    \b
    Examples:
      folkmoot explain front-desk
      folkmoot explain clerk till.refund
      folkmoot explain clerk files.write --args '{"path": ".env", "content": "x"}'
    """
    from folkmoot.cli.output import say, write_json
    from folkmoot.domain.agent import find_agent
    from folkmoot.engine.workshop import Surroundings, Workshop
    from folkmoot.errors import WrongUse
    from folkmoot.orchestration.briefs import explain as derive

    call = call_of(context)
    target = call.target(agent)
    graph = call.load(target).graph
    found = find_agent(graph, target.agent)
    if args and not tool:
        raise WrongUse("`--args` goes with TOOL: the call to judge")
    kits, left_out = Workshop(target.folder, [], {}, Surroundings()).describe(graph)
    if hidden := sorted({*left_out} & {name.partition(".")[0] for name in found.tools}):
        say(f"not allowed yet, and so left out here: the tools of {', '.join(hidden)}; see `folkmoot trust`")
    explained = derive(graph, kits, found, tool, _call(tool, args) if args else None)
    if tool and not explained.tools:
        raise WrongUse(
            f"{found.file} has no tool {tool!r}; `folkmoot explain {agent}` lists what it has",
            code="tool_not_found",
        )
    if as_json:
        write_json(explained)
    else:
        _write(explained)
    return {"ask": 6, "refuse": 1}.get(explained.decision or "", 0)


def _call(tool: str, args: str) -> ToolCall:
    from folkmoot.domain.message import ToolCall
    from folkmoot.domain.naming import wire_name
    from folkmoot.errors import WrongUse

    try:
        arguments = json.loads(args)
    except ValueError as error:
        raise WrongUse(f"`--args` is no JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise WrongUse('`--args` must be a JSON object, such as \'{"path": "a.txt"}\'')
    return ToolCall("", wire_name(tool), arguments)


def _write(explained: Explanation) -> None:
    from folkmoot.cli.output import write

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
