"""An agent's working folder, from which no path leads out.

What is opened decides, never its name: every part of a path is opened below the part before it, and none of them may
be a link. So whoever swaps a folder for a link between two steps gains nothing. Only this file opens files for agents.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG, S_ISSOCK, filemode

from folkmoot.domain.value import Value
from folkmoot.tools.builtin.refused import Absent, Refused

MOST_SEEN = 20_000
"""Names that one walk through a folder looks at."""
_OWN = ".folkmoot"
_RUNS_CODE = ".git"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Seen(Value):
    """One name in a folder."""

    path: str
    kind: str
    """`file`, `folder`, `link`, or what else `ls` would say."""
    size: int


def parts_of(path: str, *, writing: bool = False) -> tuple[str, ...]:
    """The parts of a path in the working folder. Raises `Refused` for one that no agent may use."""
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    low = [part.casefold() for part in parts]
    if path.startswith("/") or low[:1] == ["~"]:
        raise Refused(f"{path!r} is not relative; give the path from the working folder on")
    if ".." in parts or "\0" in path:
        raise Refused(f"{path!r} leads out of the working folder; give the path from the working folder on")
    if _OWN in low:
        raise Refused(f"{path!r}: {_OWN} belongs to the runtime")
    if writing and _RUNS_CODE in low:
        raise Refused(f"{path!r}: what lies in {_RUNS_CODE} can run code; use git itself")
    if writing and low and (low[-1].endswith(".ai") or low[-1] == "folkmoot.yaml"):
        raise Refused(f"{path!r} says what agents may do; only a person changes it")
    return parts


def read_file(root: Path, path: str, largest: int) -> bytes:
    *above, name = parts_of(path) or (".",)
    with (
        _said(path),
        _opened(root, above) as folder,
        os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb") as file,
    ):
        state = os.fstat(file.fileno())
        if not S_ISREG(state.st_mode):
            what = "a folder; use files.list" if S_ISDIR(state.st_mode) else "no regular file"
            raise Refused(f"{path!r} is {what}")
        content = file.read(largest + 1)
        if len(content) > largest:
            size = max(state.st_size, len(content))
            raise Refused(f"{path!r} has {size:,} bytes, more than {largest:,}")
        return content


def write_file(root: Path, path: str, content: bytes) -> None:
    """All of it or nothing, with all folders on the way; durable when it returns."""
    *above, name = parts_of(path, writing=True) or ("",)
    if not name:
        raise Refused("the path is empty; name a file")
    with _said(path), _opened(root, above, make=True) as folder:
        mode = _mode_of(name, path, folder)
        fresh = f".{secrets.token_hex(8)}.new"
        handle = os.open(fresh, _NEW, 0o666, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                if mode is not None:
                    os.fchmod(handle, mode)
                file.flush()
                os.fsync(handle)
            os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(fresh, dir_fd=folder)
            raise
        os.fsync(folder)


def look(root: Path, path: str, *, deep: bool) -> Iterator[Seen]:
    """What is in a folder, in the order of names; `deep`: and in all below it but those of git and of the runtime."""
    waiting = [parts_of(path)]
    seen = 0
    while waiting:
        parts = waiting.pop()
        with _said("/".join(parts) or "."), _opened(root, parts) as folder, os.scandir(folder) as entries:
            found = sorted(
                (entry for entry in entries if entry.name.casefold() != _OWN), key=lambda e: e.name
            )
            states = [(entry.name, _state(entry)) for entry in found[: MOST_SEEN - seen]]
        below = [(*parts, name) for name, state in states if state and S_ISDIR(state.st_mode)]
        yield from (
            Seen("/".join((*parts, name)), _kind(state), state.st_size) for name, state in states if state
        )
        seen += len(states)
        if deep and seen < MOST_SEEN:
            waiting += [inner for inner in reversed(below) if inner[-1] != _RUNS_CODE]


def shown(path: str) -> str:
    """A name for a line of text: none can look like several lines or hide a part of itself."""
    if path.isprintable():
        return path
    readable = os.fsencode(path).decode("utf-8", "replace")
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in readable
    )


@contextmanager
def _opened(root: Path, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """The descriptor of a folder. The way to `root` itself is the user's affair."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


@contextmanager
def _said(path: str) -> Iterator[None]:
    """What the system refuses, in words for the model."""
    try:
        yield
    except OSError as error:
        match error.errno:
            case errno.ENOENT:
                raise Absent(f"{path!r} does not exist; files.list shows what is there") from None
            case errno.ELOOP | errno.ENOTDIR | errno.EMLINK:
                why = "goes through a link, or through something that is no folder; links are not followed"
            case errno.ENXIO:
                why = "is no regular file"
            case _:
                why = f"cannot be used: {error.strerror}"
        raise Refused(f"{path!r} {why}") from None


def _mode_of(name: str, path: str, folder: int) -> int | None:
    """The permissions of the file that will be replaced; None if there is none."""
    try:
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not S_ISREG(state.st_mode):
        raise Refused(f"{path!r} is a {_kind(state)}, no regular file; it is not replaced")
    return S_IMODE(state.st_mode) & 0o777


def _state(entry: os.DirEntry[str]) -> os.stat_result | None:
    with suppress(OSError):  # gone meanwhile
        return entry.stat(follow_symlinks=False)
    return None


def _kind(state: os.stat_result) -> str:
    for kind, holds in (("file", S_ISREG), ("folder", S_ISDIR), ("link", S_ISLNK), ("socket", S_ISSOCK)):
        if holds(state.st_mode):
            return kind
    return {"p": "fifo"}.get(filemode(state.st_mode)[0], "device")
