"""`folkmoot init`: a small project that runs at once, offline."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from folkmoot.cli.call import AsJson
from folkmoot.cli.complete import template_names
from folkmoot.cli.templates import DEFAULT, TEMPLATES, Template, files_of, ignored, template_named
from folkmoot.errors import NotFound, OperationFailed, WrongUse


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where; made if it does not exist.")] = Path(),
    template: Annotated[
        str | None,
        typer.Option(
            "--template",
            "-t",
            metavar="NAME",
            help=f"Which one; otherwise {DEFAULT}.",
            autocompletion=template_names,
        ),
    ] = None,
    claude: Annotated[
        Path | None,
        typer.Option(
            "--from-claude", metavar="DIR", help="Sub-agents of Claude Code to make the agents from."
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the templates, and make nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a project that runs at once, offline, on a scripted model.

    Each has scenarios for `folkmoot test`; all but the first have a README that says what to change for a real model.
    Nothing that exists is overwritten. Python tools that came with a template need no `folkmoot trust` until you
    change them. With `--from-claude`, the agents are made from the Markdown files of a folder instead, and what could
    not be carried over is said.

    \b
    Templates:
      desk              a front desk with an advisor, one desk behind it, and an editor who answers last
      support-desk      a router, two desks behind it, and a refund that a person approves
      review-team       three reviewers who work at the same time, under a supervisor who asks back
      research          agents that read sources, and claims that are checked against what was read
      planner-executor  a plan under contract: who plans has no tools, who acts reads nothing but the plan

    \b
    Examples:
      folkmoot init
      folkmoot init desk && cd desk && folkmoot run front-desk.ai "I was charged twice."
      folkmoot init --template support-desk help && cd help && folkmoot test
      folkmoot init --from-claude .claude/agents moved
    """
    from folkmoot.cli.output import say, write_json

    if listed:
        _list(as_json)
        return
    if claude and template:
        raise WrongUse("--from-claude makes its agents from files, not from a template; leave --template out")
    project = _moved(claude) if claude else _from_template(template or DEFAULT)
    files, fresh = _missing(folder, project.files), not folder.exists() or not any(folder.iterdir())
    _write(folder, files)
    allowed = [] if claude else _allow(folder, project.first, mine=fresh)
    if as_json:
        made = {"folder": str(folder), "files": sorted(files), "allowed": allowed, "notes": project.notes}
        write_json(made)
    else:
        say("\n".join([f"made {', '.join(sorted(files))}", *project.notes, *_next(folder, project)]))


class Project(NamedTuple):
    files: Mapping[str, str]
    first: Template
    """What to ask it first."""
    notes: tuple[str, ...] = ()
    """What its author should know."""


def _next(folder: Path, project: Project) -> Iterator[str]:
    yield "next:"
    if folder != Path():
        yield f"  cd {shlex.quote(str(folder))}"
    yield "  folkmoot check"
    if any(name.endswith(".test.yaml") for name in project.files):
        yield "  folkmoot test"
    yield f'  folkmoot run {project.first.agent} "{project.first.request}"'
    yield "  folkmoot runs show last"
    if "README.md" in project.files:
        yield "README.md says what to change for a real model"


def _from_template(name: str) -> Project:
    first = template_named(name)
    return Project(files_of(name), first)


def _moved(source: Path) -> Project:
    from folkmoot.cli.from_claude import MAIN, SETTINGS, carried, main_agent

    try:
        agents = {path: carried(path.stem, path.read_text("utf-8")) for path in sorted(source.rglob("*.md"))}
    except (OSError, UnicodeDecodeError) as error:
        raise OperationFailed(f"cannot read the files in {source}: {error}") from None
    if not agents:
        raise NotFound(
            f"there is no *.md file in {source}; sub-agents of Claude Code lie in .claude/agents",
            code="file_not_found",
        )
    files = {agent.file: agent.text for agent in agents.values()}
    if len(files) < len(agents) or MAIN in files:
        raise WrongUse(f"two agents would have the same file, or be {MAIN}; give them other names")
    notes = (f"{path.name}: {note}" for path, agent in agents.items() for note in agent.notes)
    whole = {**files, MAIN: main_agent(agents.values()), "folkmoot.yaml": SETTINGS, ".gitignore": ignored()}
    return Project(whole, Template("", MAIN, "Hello."), tuple(notes))


def _list(as_json: bool) -> None:
    from folkmoot.cli.output import write_json, write_table

    if as_json:
        write_json([{"name": name, "description": template.line} for name, template in TEMPLATES.items()])
    else:
        write_table(
            ("template", "what it has"),
            (((name, "bold"), template.line) for name, template in TEMPLATES.items()),
        )


def _missing(folder: Path, files: Mapping[str, str]) -> Mapping[str, str]:
    """All of them, but for a `.gitignore` that is there already; anything else that is there is in the way."""
    taken = {name for name in files if (folder / name).exists()}
    if taken - {".gitignore"}:
        raise WrongUse(f"{folder} has {', '.join(sorted(taken))} already; name another folder for it")
    return {name: text for name, text in files.items() if name not in taken}


def _write(folder: Path, files: Mapping[str, str]) -> None:
    try:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise OperationFailed(f"cannot write {error.filename}: {error.strerror}") from None


def _allow(folder: Path, template: Template, *, mine: bool) -> list[str]:
    """What Folkmoot made itself is allowed; nothing is asked in a folder that holds nothing else (`mine`)."""
    from msgspec.structs import replace

    from folkmoot.engine.workshop import load_project
    from folkmoot.tools.consent import ConsentStore
    from folkmoot.tools.wanted import wanted_items

    wanted = wanted_items(folder, load_project(folder, only=template.agent).graph)
    try:
        store = ConsentStore()
        store.grant(folder, wanted)
        store.write(folder, replace(store.of(folder), mine=mine))
    except OSError:
        return []  # the first run asks instead
    return [item.text for item in wanted]
