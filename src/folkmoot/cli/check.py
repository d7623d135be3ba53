"""`folkmoot check`, `graph` and `config`: everything that can be known about a project before it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from folkmoot.cli.call import AsJson, GlobalOptions, Target, get_global_options
from folkmoot.cli.failure import write_help_hint
from folkmoot.cli.output import counted, write, write_json, write_stderr, write_table
from folkmoot.domain.agent import Graph
from folkmoot.domain.duration import written
from folkmoot.engine.workshop import load_project
from folkmoot.errors import DeclarationError, Problem, WrongUse
from folkmoot.loader.bounds import COUNTLESS, worst_case
from folkmoot.loader.load import Loaded
from folkmoot.loader.options import Setting
from folkmoot.models.choose import ProviderModels
from folkmoot.site.remedies import topic_for
from folkmoot.tools.consent import ConsentStore, unknown_tools
from folkmoot.tools.modules import load_modules, syntax_problem
from folkmoot.tools.registry import Registry
from folkmoot.tools.wanted import module_item
from folkmoot.views import graph as views
from folkmoot.views.graph import roots


def check(
    context: typer.Context,
    path: Annotated[
        Path | None, typer.Argument(metavar="PATH", help="A project's folder, or one agent file.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """A file is checked with everything it refers to. Python modules with tools are imported if you trust them. Every
    problem is printed as file:line:column: message. Then, for each agent that no other refers to, how many model
    requests it can cause at most. The exit code is 4 if anything is wrong; warnings do not count.

    \b
    Examples:
      folkmoot check
      folkmoot check desks/support
      folkmoot check front-desk.ai --json
    """

    call = get_global_options(context)
    target = _resolve_target(call, path)
    try:
        loaded = check_project(call, target)
    except DeclarationError as error:
        if as_json:
            write_json({"problems": error.problems, "help": topic_for(error)})
        else:
            for problem in error.problems:
                write(str(problem), "yellow" if problem.severity == "warning" else "")
            errors = sum(problem.severity == "error" for problem in error.problems)
            write_stderr(f"{errors} {'problem' if errors == 1 else 'problems'}", "bold red")
            write_help_hint(topic_for(error))
        return error.exit_code
    if as_json:
        write_json({"problems": loaded.warnings})
    else:
        _write_check_result(loaded)
    return 0


def check_project(call: GlobalOptions, target: Target) -> Loaded:
    """As `load_project`, and with the scripts of scripted models and the trusted tools read too."""

    loaded = call.load(target)
    models = ProviderModels(loaded.graph.settings.providers, {}, target.folder)
    unknown = unknown_tools(loaded.graph, target.folder, ConsentStore().listings)
    found = [*loaded.warnings, *models.problems(), *unknown, *_module_problems(loaded.graph, target.folder)]
    if any(problem.severity == "error" for problem in found):
        raise DeclarationError(found)
    return replace(loaded, warnings=tuple(found))


def _module_problems(graph: Graph, folder: Path) -> Iterator[Problem]:
    """Of Python modules of the project. Those that are not trusted are not imported, only read."""

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


def _resolve_target(call: GlobalOptions, path: Path | None) -> Target:
    if path is None:
        return Target(folder=call.folder, agent="")
    if path.is_dir():
        return Target(folder=path, agent="")
    if path.suffix != ".ai" or not path.is_file():
        raise WrongUse(f"{str(path)!r} is neither a folder nor an agent file")
    found = call.target(str(path))
    return Target(folder=found.folder, agent=found.agent, alone=True)


def _write_check_result(loaded: Loaded) -> None:

    for warning in loaded.warnings:
        write(str(warning), "yellow")
    for file in roots(loaded.graph):
        worst = worst_case(loaded.graph, file)
        most = "without limit" if worst >= COUNTLESS else f"at most {counted(worst, 'model request')}"
        write(f"{file}: {most}")
    write_stderr(_describe_result(loaded), "green")


def _describe_result(loaded: Loaded) -> str:

    warnings = counted(len(loaded.warnings), "warning") if loaded.warnings else "no warnings"
    return f"{counted(len(loaded.graph.agents), 'agent')}, no problems, {warnings}"


class GraphFormat(StrEnum):
    text = "text"
    mermaid = "mermaid"
    svg = "svg"


def graph(
    context: typer.Context,
    form: Annotated[GraphFormat, typer.Option("--format", "-f", help="How to draw it.")] = GraphFormat.text,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead of stdout.")
    ] = None,
) -> None:
    """\b
    Examples:
      folkmoot graph
      folkmoot graph --format mermaid
      folkmoot graph --format svg -o agents.svg
    """

    call = get_global_options(context)
    loaded = load_project(call.folder, overrides=call.overrides)
    draw = {GraphFormat.text: views.text, GraphFormat.mermaid: views.mermaid, GraphFormat.svg: views.svg}[
        form
    ]
    drawing = draw(loaded.graph)
    if output is None:
        write(drawing.rstrip("\n"))
        return
    try:
        output.write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise WrongUse(f"cannot write {str(output)!r}: {error.strerror}") from None


def show(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Every option of every agent too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show each setting with its source: --set, environment, an agent's file, folkmoot.yaml or default.

    The first of these that says something holds. Of an agent, only what its file says is shown, unless --all.

    \b
    Examples:
      folkmoot config show
      FOLKMOOT_MAX_TURNS=3 folkmoot config show --json
    """

    call = get_global_options(context)
    settings = load_project(call.folder, overrides=call.overrides).settings
    if as_json:
        write_json(settings)
        return
    write_table(
        ("setting", "value", "source"),
        (
            (f"{setting.file} {setting.key}".strip(), _format_setting(setting), (setting.source, "dim"))
            for setting in settings
            if everything or not setting.file or setting.source.startswith(f"{setting.file}:")
        ),
    )


def _format_setting(setting: Setting) -> str:

    value = setting.value
    if value is None:
        return "-"
    if setting.unit:
        return written(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


CONFIG = (show,)
