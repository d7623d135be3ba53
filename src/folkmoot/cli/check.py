"""`folkmoot check`: everything that can be known about a project before it runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson, Call, Target, call_of
from folkmoot.errors import DeclarationError, Problem, WrongUse

if TYPE_CHECKING:
    from folkmoot.domain.agent import Graph
    from folkmoot.loader.load import Loaded


def check(
    context: typer.Context,
    path: Annotated[
        Path | None, typer.Argument(metavar="PATH", help="A project's folder, or one agent file.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Check a project or one agent file; no agent is run.

    A file is checked with everything it refers to. Python modules with tools are imported if you trust them. Every
    problem is printed as file:line:column: message. Then, for each agent that no other refers to, how many model
    requests it can cause at most. The exit code is 4 if anything is wrong; warnings do not count.

    \b
    Examples:
      folkmoot check
      folkmoot check desks/support
      folkmoot check front-desk.ai --json
    """
    from folkmoot.cli.failure import say_more
    from folkmoot.cli.output import say, write, write_json
    from folkmoot.site.remedies import topic_for

    call = call_of(context)
    target = _target(call, path)
    try:
        loaded = checked(call, target)
    except DeclarationError as error:
        if as_json:
            write_json({"problems": error.problems, "help": topic_for(error)})
        else:
            for problem in error.problems:
                write(str(problem), "yellow" if problem.severity == "warning" else "")
            errors = sum(problem.severity == "error" for problem in error.problems)
            say(f"{errors} {'problem' if errors == 1 else 'problems'}", "bold red")
            say_more(topic_for(error))
        return error.exit_code
    if as_json:
        write_json({"problems": loaded.warnings})
    else:
        _write_sound(loaded)
    return 0


def checked(call: Call, target: Target) -> Loaded:
    """As `load_project`, and with the scripts of scripted models and the trusted tools read too."""
    from msgspec.structs import replace

    from folkmoot.models.choose import ProviderModels
    from folkmoot.tools.consent import ConsentStore, unknown_tools

    loaded = call.load(target)
    models = ProviderModels(loaded.graph.settings.providers, {}, target.folder)
    unknown = unknown_tools(loaded.graph, target.folder, ConsentStore().listings)
    found = [*loaded.warnings, *models.problems(), *unknown, *_module_problems(loaded.graph, target.folder)]
    if any(problem.severity == "error" for problem in found):
        raise DeclarationError(found)
    return replace(loaded, warnings=tuple(found))


def _module_problems(graph: Graph, folder: Path) -> Iterator[Problem]:
    """Of Python modules of the project. Those that are not trusted are not imported, only read."""
    from folkmoot.tools.consent import ConsentStore
    from folkmoot.tools.modules import load_modules, syntax_problem
    from folkmoot.tools.registry import Registry
    from folkmoot.tools.wanted import module_item

    store, registry = ConsentStore(), Registry()
    for name, source in graph.settings.tools.items():
        if source.module is None:
            continue
        if store.missing(folder, [module_item(folder, name, source)]):
            message = (
                "not imported, because it is not trusted: allow it with `folkmoot trust`, then check again"
            )
            unread = Problem(file=source.module, severity="warning", message=message)
            yield syntax_problem(folder, source.module) or unread
            continue
        try:
            tools = load_modules(folder, {name: source}, registry)[name]
        except DeclarationError as error:
            yield from error.problems
            continue
        known = [f"{name}.{each.name}" for each in tools]
        for agent in graph.agents.values():
            for wanted in agent.tools:
                if wanted.startswith(f"{name}.") and wanted not in known:
                    message = f"{source.module} makes no tool {wanted!r}; it makes {', '.join(known)}"
                    yield Problem(file=agent.file, message=message)


def _target(call: Call, path: Path | None) -> Target:
    if path is None:
        return Target(folder=call.folder, agent="")
    if path.is_dir():
        return Target(folder=path, agent="")
    if path.suffix != ".ai" or not path.is_file():
        raise WrongUse(f"{str(path)!r} is neither a folder nor an agent file")
    found = call.target(str(path))
    return Target(folder=found.folder, agent=found.agent, alone=True)


def _write_sound(loaded: Loaded) -> None:
    from folkmoot.cli.amounts import counted
    from folkmoot.cli.output import say, write
    from folkmoot.loader.bounds import COUNTLESS, worst_case
    from folkmoot.views.graph import roots

    for warning in loaded.warnings:
        write(str(warning), "yellow")
    for file in roots(loaded.graph):
        worst = worst_case(loaded.graph, file)
        most = "without limit" if worst >= COUNTLESS else f"at most {counted(worst, 'model request')}"
        write(f"{file}: {most}")
    say(_verdict(loaded), "green")


def _verdict(loaded: Loaded) -> str:
    from folkmoot.cli.amounts import counted

    warnings = counted(len(loaded.warnings), "warning") if loaded.warnings else "no warnings"
    return f"{counted(len(loaded.graph.agents), 'agent')}, no problems, {warnings}"
