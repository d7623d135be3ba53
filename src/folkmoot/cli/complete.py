"""What the shell offers when TAB is pressed. A project that cannot be read offers nothing."""

from __future__ import annotations

from pathlib import Path

from folkmoot.cli.call import finished, nearest_project
from folkmoot.errors import FolkmootError


def agent_files(incomplete: str) -> list[str]:
    folder = nearest_project(Path.cwd()) or Path.cwd()
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*.ai"))
    return sorted(file for file in found if file.startswith(incomplete) and not file.startswith("."))


def run_names(incomplete: str) -> list[str]:
    from folkmoot.cli.project import opened
    from folkmoot.ports import RunQuery

    async def begin_so() -> list[str]:
        async with opened(nearest_project(Path.cwd()) or Path.cwd()) as journal:
            return [run.run for run in await journal.runs(RunQuery(prefix=incomplete))]

    try:
        runs = finished(begin_so())
    except FolkmootError:
        return []
    return [*(["last"] if "last".startswith(incomplete) else []), *runs]
