"""Files for people and other programs: what the journal says of tasks, plans, decisions and the team.

They are written from the records alone, so that they can be made anew at any time, byte for byte. Nobody reads them
back: editing one changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from folkmoot.domain.value import Value
from folkmoot.errors import OperationFailed
from folkmoot.journal.database import make_folder
from folkmoot.journal.files import make_durable_folder, write_durably
from folkmoot.views import decisions, plans, tasks, team

if TYPE_CHECKING:
    from folkmoot.coordination.moot import Moot

_log = logging.getLogger(__name__)
KEPT = ("tasks", "plans", "decisions", "snapshots")
"""The folders below `.folkmoot` that hold nothing but projections; what stands there for no reason goes."""


async def projected(moot: Moot) -> dict[str, str]:
    """What should stand in them, by path."""
    every_task = await moot.tasks.all()
    return {
        **tasks.projected(every_task),
        **plans.projected(await moot.plans.all()),
        **decisions.projected([*(await moot.decisions.all()).values()]),
        **team.projected(await moot.team.members(every_task)),
    }


async def project(moot: Moot, folder: Path) -> Difference:
    """Write them, where nobody's business is held up if that fails: they can always be made anew."""
    try:
        return write(folder, await projected(moot))
    except (OSError, OperationFailed) as error:
        _log.warning("the files in %s are behind the journal: %s", folder, error)
        return Difference()


class Difference(Value):
    """What the files are behind the records."""

    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    """Files of which the records say nothing, or no longer."""


def difference(folder: Path, wanted: Mapping[str, str]) -> Difference:
    """`folder` is `.folkmoot`, `wanted` what should stand there, by path."""
    there = {
        path.relative_to(folder).as_posix()
        for kept in KEPT
        for path in (folder / kept).rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
    changed = (path for path, text in wanted.items() if _content(folder / path) != text.encode())
    return Difference(tuple(sorted(changed)), tuple(sorted(there - wanted.keys())))


def write(folder: Path, wanted: Mapping[str, str]) -> Difference:
    """Bring the files up to the records; what was behind. Each is afterwards old or new, never half."""
    behind = difference(folder, wanted)
    if behind.changed and not folder.is_dir():  # with a journal on a server nobody else makes it
        make_folder(folder.parent, journal=False)
    for path in behind.changed:
        _make_folders(folder, (folder / path).parent)
        write_durably(folder / path, wanted[path].encode())
    for path in behind.gone:
        (folder / path).unlink(missing_ok=True)
    return behind


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _make_folders(top: Path, folder: Path) -> None:
    if folder != top and not folder.is_dir():
        _make_folders(top, folder.parent)
        make_durable_folder(folder)
