"""What all commands share: the global options, and which project is meant."""

from __future__ import annotations

import os
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from folkmoot.errors import NotFound, WrongUse

if TYPE_CHECKING:
    from folkmoot.loader.load import Loaded

T = TypeVar("T")
SETTINGS = "folkmoot.yaml"

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, also on failure.")]
Wait = Annotated[
    bool, typer.Option("--wait", help="Stay until what waits in the inbox is answered, by anybody.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary on stderr.")]


@dataclass(frozen=True, kw_only=True)
class Target:
    """An agent and the project it belongs to."""

    folder: Path
    agent: str
    alone: bool = False
    """The file belongs to no project: only it and what it refers to are read."""


@dataclass(frozen=True, kw_only=True)
class GlobalOptions:
    """The global options of this call."""

    project: Path | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    verbose: bool = False

    @property
    def folder(self) -> Path:
        """`--project`, otherwise the nearest folder upwards with settings, otherwise this one."""
        return self.project or nearest_project(Path.cwd()) or Path.cwd()

    def target(self, agent: str) -> Target:
        """An agent by its id or its file: within the project, or a path from here."""
        path = resolve_links(Path(agent))
        if not agent.endswith(".ai") or not path.is_file():
            if not self.project and not nearest_project(Path.cwd()):
                raise _build_agent_file_error(agent)
            return Target(folder=self.folder, agent=agent)
        folder = resolve_links(self.project) if self.project else nearest_project(path.parent)
        if folder is None:
            return Target(folder=path.parent, agent=path.name, alone=True)
        inside = path.is_relative_to(folder)
        return Target(folder=folder, agent=path.relative_to(folder).as_posix() if inside else agent)

    def load(self, target: Target) -> Loaded:
        """Its project, or only the file and what that refers to."""
        from folkmoot.engine.workshop import load_project

        only = target.agent if target.alone else None
        return load_project(target.folder, overrides=self.overrides, only=only)


def resolve_links(path: Path) -> Path:
    """Without links. `Path.resolve` breaks on links in a circle; here they stay, and nobody can open them."""
    return Path(os.path.realpath(path))


def get_global_options(context: typer.Context) -> GlobalOptions:
    call = context.find_object(GlobalOptions)
    return call or GlobalOptions()


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives; asyncio takes time to import, and `--help` has no use for it."""
    import asyncio

    return asyncio.run(work)


def nearest_project(start: Path) -> Path | None:
    return next((folder for folder in (start, *start.parents) if (folder / SETTINGS).is_file()), None)


def _build_agent_file_error(agent: str) -> WrongUse:
    """Without a project there are only files: nothing else is read to find out what was meant."""
    from folkmoot.loader.findings import near

    if Path(f"{agent}.ai").is_file():
        return NotFound(
            f"there is no agent file {agent!r}; did you mean '{agent}.ai'?", code="agent_not_found"
        )
    if Path(agent).is_dir():
        return WrongUse(f"{agent!r} is a folder; name an agent file in it, or a project with --project")
    hint = near(agent, [str(file) for file in Path(agent).parent.glob("*.ai")])
    return NotFound(
        f"there is no agent file {agent!r}{hint or f', and no {SETTINGS} here or above that makes a project'}",
        code="agent_not_found",
    )


def read_overrides(pairs: list[str]) -> dict[str, str]:
    """`--set key=value`, any number of times; the last one of a key holds."""
    overrides = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise WrongUse(f"--set takes key=value, such as maxTurns=3, not {pair!r}")
        overrides[key.strip()] = value
    return overrides


def read_text(file: Path, what: str) -> str:
    """Of a file that the command line names."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise WrongUse(f"{what} {str(file)!r} cannot be read: {why}") from None


def read_env_file(path: Path) -> dict[str, str]:
    """`NAME=value` lines; `export`, quotes, empty lines and `#` comments as shells have them."""
    lines = read_text(path, "--env-file").splitlines()
    values = {}
    for number, line in enumerate(lines, start=1):
        said = line.strip().removeprefix("export ").lstrip()
        if not said or said.startswith("#"):
            continue
        name, equals, value = said.partition("=")
        if not equals or not name.strip().isidentifier():
            raise WrongUse(f"{path}:{number}: this is no NAME=value line")
        values[name.strip()] = _strip_quotes(value.strip())
    return values


def _strip_quotes(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value.partition(" #")[0].rstrip()
