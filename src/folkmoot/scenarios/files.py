"""Which files hold scenarios: those whose names end in `.test.yaml`, beside the agents that they are about.

By their names, so that no other YAML file of a project is ever taken for one, wherever it lies.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from folkmoot.errors import NotFound, WrongUse
from folkmoot.loader.files import MOST_FOLDERS, SETTINGS

SUFFIX = ".test.yaml"
_NOT_SEARCHED = frozenset(("node_modules", "__pycache__", "venv"))


def scenario_files(paths: Iterable[Path]) -> list[Path]:
    """The named files, and all below the named folders. Raises `WrongUse` for what does not exist."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(sorted(_below(path)))
        elif path.is_file():
            found[path] = None
        else:
            raise NotFound(
                f"there is no file or folder {str(path)!r}; name scenario files (*{SUFFIX}) or a folder",
                code="file_not_found",
            )
    return list(found)


def project_of(file: Path) -> Path:
    """The nearest folder upwards with settings, otherwise the file's own."""
    folder = file.resolve().parent
    return next((each for each in (folder, *folder.parents) if (each / SETTINGS).is_file()), folder)


def _below(folder: Path) -> Iterator[Path]:
    for count, (here, folders, files) in enumerate(os.walk(folder)):
        folders[:] = [name for name in folders if name[0] != "." and name not in _NOT_SEARCHED]
        yield from (Path(here, name) for name in files if name.endswith(SUFFIX) and name[0] != ".")
        if count > MOST_FOLDERS:
            raise WrongUse(f"{folder} has more than {MOST_FOLDERS:,} folders; name a smaller one")
