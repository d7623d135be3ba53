"""`folkmoot init`: a small project that runs at once, offline."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from msgspec.structs import replace

from folkmoot.cli.call import AsJson
from folkmoot.cli.from_claude import MAIN, SETTINGS, build_main_agent, convert_agent
from folkmoot.cli.output import write_json, write_stderr, write_table
from folkmoot.engine.workshop import load_project
from folkmoot.errors import NotFound, OperationFailed, WrongUse
from folkmoot.tools.consent import ConsentStore
from folkmoot.tools.wanted import wanted_items

_SCAFFOLD = Path(__file__).parent / "scaffold"


class Template(NamedTuple):
    line: str
    """What one gets, for the list."""
    agent: str
    request: str
    """What it may be asked first."""


DEFAULT = "desk"
TEMPLATES: Mapping[str, Template] = {
    DEFAULT: Template(
        "a front desk with an advisor, one desk behind it, and an editor who answers last",
        "front-desk.ai",
        "I was charged twice for order 1042.",
    ),
    "support-desk": Template(
        "a router, two desks behind it, and a refund that a person approves",
        "support.ai",
        "I was charged twice for order 1042.",
    ),
    "review-team": Template(
        "three reviewers who work at the same time, under a supervisor who asks back",
        "review.ai",
        "May this be merged?",
    ),
    "research": Template(
        "agents that read sources, and claims that are checked against what was read",
        "research.ai",
        "Can we do without the paper catalogue?",
    ),
    "planner-executor": Template(
        "a plan under contract: who plans has no tools, who acts reads nothing but the plan",
        "inspector.ai",
        "Was order 1042 charged twice, and was it paid back?",
    ),
}


def find_template(name: str) -> Template:
    if name not in TEMPLATES:
        raise NotFound(
            f"there is no template {name!r}; there are {', '.join(TEMPLATES)}", code="template_not_found"
        )
    return TEMPLATES[name]


def load_template_files(name: str) -> Mapping[str, str]:
    """The text of each file, by its path in the project; what a run has left beside them is left out."""
    source = _SCAFFOLD / name
    paths = {
        path.relative_to(source).as_posix(): path for path in sorted(source.rglob("*")) if path.is_file()
    }
    kept = {place: path.read_text("utf-8") for place, path in paths.items() if not _is_run_output(place)}
    return {".gitignore": load_gitignore(), **kept}


def load_gitignore() -> str:
    """For a `.gitignore`; under that name, git would obey it in our own repository."""
    return (_SCAFFOLD / "gitignore").read_text("utf-8")


def _is_run_output(place: str) -> bool:
    return any(part.startswith((".", "__")) for part in place.split("/"))


def complete_template_name(incomplete: str) -> list[tuple[str, str]]:
    return [(name, each.line) for name, each in TEMPLATES.items() if name.startswith(incomplete)]


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where; made if it does not exist.")] = Path(),
    template: Annotated[
        str | None,
        typer.Option(
            "--template",
            "-t",
            metavar="NAME",
            help=f"Which one; otherwise {DEFAULT}.",
            autocompletion=complete_template_name,
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
    """Each has scenarios for `folkmoot test`; all but the first have a README that says what to change for a real
    model. Nothing that exists is overwritten. Python tools that came with a template need no `folkmoot trust` until
    you change them. With `--from-claude`, the agents are made from the Markdown files of a folder instead, and what
    could not be carried over is said.

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

    if listed:
        _write_template_list(as_json)
        return
    if claude and template:
        raise WrongUse("--from-claude makes its agents from files, not from a template; leave --template out")
    project = _convert_claude_agents(claude) if claude else _build_from_template(template or DEFAULT)
    files, fresh = (
        _select_missing_files(folder, project.files),
        not folder.exists() or not any(folder.iterdir()),
    )
    _write_files(folder, files)
    allowed = [] if claude else _grant_consent(folder, project.first, mine=fresh)
    if as_json:
        made = {"folder": str(folder), "files": sorted(files), "allowed": allowed, "notes": project.notes}
        write_json(made)
    else:
        write_stderr(
            "\n".join(
                [f"made {', '.join(sorted(files))}", *project.notes, *_list_next_steps(folder, project)]
            )
        )


class NewProject(NamedTuple):
    files: Mapping[str, str]
    first: Template
    """What to ask it first."""
    notes: tuple[str, ...] = ()
    """What its author should know."""


def _list_next_steps(folder: Path, project: NewProject) -> Iterator[str]:
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


def _build_from_template(name: str) -> NewProject:
    first = find_template(name)
    return NewProject(load_template_files(name), first)


def _convert_claude_agents(source: Path) -> NewProject:

    try:
        agents = {
            path: convert_agent(path.stem, path.read_text("utf-8")) for path in sorted(source.rglob("*.md"))
        }
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
    whole = {
        **files,
        MAIN: build_main_agent(agents.values()),
        "folkmoot.yaml": SETTINGS,
        ".gitignore": load_gitignore(),
    }
    return NewProject(whole, Template("", MAIN, "Hello."), tuple(notes))


def _write_template_list(as_json: bool) -> None:

    if as_json:
        write_json([{"name": name, "description": template.line} for name, template in TEMPLATES.items()])
    else:
        write_table(
            ("template", "what it has"),
            (((name, "bold"), template.line) for name, template in TEMPLATES.items()),
        )


def _select_missing_files(folder: Path, files: Mapping[str, str]) -> Mapping[str, str]:
    """All of them, but for a `.gitignore` that is there already; anything else that is there is in the way."""
    taken = {name for name in files if (folder / name).exists()}
    if taken - {".gitignore"}:
        raise WrongUse(f"{folder} has {', '.join(sorted(taken))} already; name another folder for it")
    return {name: text for name, text in files.items() if name not in taken}


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    try:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise OperationFailed(f"cannot write {error.filename}: {error.strerror}") from None


def _grant_consent(folder: Path, template: Template, *, mine: bool) -> list[str]:
    """What Folkmoot made itself is allowed; nothing is asked in a folder that holds nothing else (`mine`)."""

    wanted = wanted_items(folder, load_project(folder, only=template.agent).graph)
    try:
        store = ConsentStore()
        store.grant(folder, wanted)
        store.write(folder, replace(store.of(folder), mine=mine))
    except OSError:
        return []  # the first run asks instead
    return [item.text for item in wanted]
