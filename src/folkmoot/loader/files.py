"""Which files belong to a project, and their text. Nothing outside of the project's folder is ever read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from stat import S_ISREG

from folkmoot.loader.findings import Findings, Location, short

SETTINGS = "folkmoot.yaml"
LARGEST = 1_000_000
"""Bytes of one file."""
MOST_FILES, MOST_FOLDERS = 1_000, 20_000
NOT_SEARCHED = frozenset(("node_modules", "__pycache__", "venv"))


class Misplaced(Exception):
    """A path does not lead to a file of this project; says why."""


class Missing(Misplaced):
    """Nothing is there."""


def agent_files(root: Path, findings: Findings) -> list[str]:
    """All agent files below `root`, relative to it; a folder with settings of its own is another project."""
    found: set[str] = set()
    for count, (folder, folders, files) in enumerate(os.walk(root)):
        folders[:] = sorted(name for name in folders if _searched(Path(folder, name)))
        found |= set(_named(root, Path(folder), files, findings))
        if len(found) > MOST_FILES or count > MOST_FOLDERS:
            limit = f"{MOST_FILES:,} agent files or {MOST_FOLDERS:,} folders"
            findings.error(Location("."), f"more than {limit}: this is no project; name a smaller folder")
            break
    return sorted(found)[:MOST_FILES]


def read_text(root: Path, file: str, findings: Findings, largest: int = LARGEST) -> str | None:
    """The text of a file of the project; None after saying why there is none."""
    place = Location(file)
    try:
        content = _content(root / file, largest)
        if content.startswith(b"\xef\xbb\xbf"):
            raise Misplaced("the file begins with a byte order mark; save it as UTF-8 without one")
        text = content.decode("utf-8")
        if (nul := content.find(b"\0")) >= 0:
            place = _place(file, content, nul)
            raise Misplaced("there is a NUL byte here; take it out, or move the file away if it is no text")
        return text
    except Misplaced as error:
        findings.error(place, str(error))
    except UnicodeDecodeError as error:
        message = f"the byte {error.object[error.start]:#04x} is not UTF-8; save the file as UTF-8"
        place = _place(file, error.object, error.start)
        findings.error(place, f"{message}, or move it away if it is no text")
    except OSError as error:
        findings.error(place, f"the file cannot be read: {error.strerror}")
    return None


def inside(root: Path, folder: str, path: str) -> str:
    """`path`, written in a file of `folder`, as the project knows it. Raises `Misplaced`."""
    if not path or path.startswith(("/", "~")):
        raise Misplaced("must be a path relative to this file" if path else "is empty; name a file")
    if climbs_out(folder, path):
        raise Misplaced(f"leads out of the project; only files below {root.name}/ may be named")
    try:
        real = (root / folder / path).resolve()
        if not real.is_relative_to(root):
            raise Misplaced("is a link that leads out of the project; put the file itself into the project")
        if not real.is_file():
            raise Misplaced("is not a regular file") if real.exists() else Missing("does not exist")
    except (OSError, RuntimeError) as error:
        raise Misplaced(
            f"cannot be read: {getattr(error, 'strerror', None) or 'links in a circle'}"
        ) from None
    return real.relative_to(root).as_posix()


def climbs_out(folder: str, path: str) -> bool:
    depth = len(PurePosixPath(folder).parts)
    for part in PurePosixPath(path).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def _searched(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in NOT_SEARCHED:
        return False
    return not (folder / SETTINGS).exists() and not (folder / "pyvenv.cfg").exists()


def _named(root: Path, folder: Path, files: list[str], findings: Findings) -> Iterator[str]:
    """By the name behind the links: two names of one file are one agent."""
    for name in files:
        if not name.endswith(".ai") or name.startswith("."):
            continue
        file = (folder / name).relative_to(root).as_posix()
        if not file.isprintable():
            findings.error(Location(file), "the path holds characters that cannot be shown; rename it")
            continue
        try:
            yield inside(root, "", file) if (folder / name).is_symlink() else file
        except Misplaced as error:
            findings.error(Location(file), f"{short(name)} {error}")


def _content(path: Path, largest: int) -> bytes:
    state = path.stat()
    if not S_ISREG(state.st_mode):
        raise Misplaced("this is not a regular file; move it away")
    if state.st_size > largest:
        raise Misplaced(
            f"the file has {state.st_size:,} bytes, more than {largest:,}; split it or move it away"
        )
    with path.open("rb") as file:
        return file.read(largest)


def _place(file: str, content: bytes, position: int) -> Location:
    start = content.rfind(b"\n", 0, position) + 1
    return Location(
        file,
        content.count(b"\n", 0, position) + 1,
        len(content[start:position].decode("utf-8", "replace")) + 1,
    )
