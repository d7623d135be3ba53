"""What the shell offers when TAB is pressed. A project that cannot be read offers nothing."""

from __future__ import annotations

from pathlib import Path

from folkmoot.cli.call import finished, nearest_project
from folkmoot.cli.templates import TEMPLATES


def agent_files(incomplete: str) -> list[str]:
    folder = nearest_project(Path.cwd()) or Path.cwd()
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*.ai"))
    return sorted(file for file in found if file.startswith(incomplete) and not file.startswith("."))


def template_names(incomplete: str) -> list[tuple[str, str]]:
    return [(name, each.line) for name, each in TEMPLATES.items() if name.startswith(incomplete)]


def run_names(incomplete: str) -> list[str]:
    from folkmoot.cli.records import all_runs
    from folkmoot.errors import FolkmootError

    try:
        runs = finished(all_runs(nearest_project(Path.cwd()) or Path.cwd()))
    except FolkmootError:
        return []
    return [name for name in ("last", *(row.run_id for row in runs)) if name.startswith(incomplete)]
