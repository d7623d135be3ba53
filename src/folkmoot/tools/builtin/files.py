"""The tools `files.*`, and an agent's working folder, from which no path leads out.

What is opened decides, never its name: every part of a path is opened below the part before it, and none of them may
be a link. So whoever swaps a folder for a link between two steps gains nothing. Only this file opens files for agents.
"""

from __future__ import annotations

import errno
import os
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG, S_ISSOCK, filemode
from typing import Any

from folkmoot.domain.settings import FileLimits
from folkmoot.domain.sources import Change
from folkmoot.domain.value import Value
from folkmoot.tools.functions import Refused

MOST_SEEN = 20_000
"""Names that one walk through a folder looks at."""
_OWN = ".folkmoot"
_RUNS_CODE = ".git"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
LARGEST_COMPARED = 2_000
"""Lines; of more, all that lie between the first and the last difference count as changed."""
MOST_LISTED = 500


class Files:
    def __init__(self, limits: FileLimits) -> None:
        self._limits = limits
        self._changing = threading.Lock()
        """The calls of one answer run side by side, and two may change one file."""

    def read(self, path: str, work_dir: Path, offset: int = 1, limit: int = 500) -> str:
        """Read lines of a text file in the working folder, from line `offset` on, at most `limit` of them."""
        content = read_file(work_dir, path, self._limits.file_bytes)
        if b"\0" in content:
            raise Refused(f"{path!r} is binary ({len(content):,} bytes), not text")
        text = content.decode("utf-8", "replace")
        lines = text.removesuffix("\n").split("\n") if text else []
        first = max(offset, 1)
        if first > max(len(lines), 1):
            raise Refused(f"{path!r} has only {len(lines):,} lines")
        wanted = lines[first - 1 : first - 1 + max(1, min(limit, self._limits.read_lines))]
        page, count = self._page(wanted)
        left = len(lines) - (first - 1 + count)
        notes = ["some bytes are not UTF-8 and stand as \ufffd"] if text.encode() != content else []
        if left or first > 1:
            notes.append(f"lines {first:,}–{first - 1 + count:,} of {len(lines):,}; {left:,} left")
        return "\n".join([page, *(f"[{note}]" for note in notes)])

    def write(self, path: str, content: str, work_dir: Path) -> str:
        """Write a whole text file in the working folder, instead of what it held; folders on the way are made."""
        return self._change({"path": path, "content": content}, work_dir)

    def edit(self, path: str, old: str, new: str, work_dir: Path) -> str:
        """Replace a text in a file of the working folder. `old` must stand in it exactly once, to the last space."""
        return self._change({"path": path, "old": old, "new": new}, work_dir)

    def list(self, work_dir: Path, path: str = ".", deep: bool = False) -> str:
        """List a folder in the working folder with types and sizes; `deep`: with all folders below it."""
        seen = [*islice(look(work_dir, path, deep=deep), MOST_SEEN)]
        lines = [f"{shown(each.path)}{_remark(each.kind, each.size)}" for each in seen[:MOST_LISTED]]
        if left := len(seen) - len(lines):
            more = f"[{len(lines):,} of {len(seen):,} names; {left:,} left: list a folder below"
            lines.append(f"{more}]" if len(seen) < MOST_SEEN else f"{more}; there are even more]")
        return "\n".join(lines) or "[the folder is empty]"

    def _page(self, lines: Sequence[str]) -> tuple[str, int]:
        """As many whole lines as may be shown; of a first line that is too long, its beginning."""
        room = self._limits.read_bytes
        for count, line in enumerate(lines):
            room -= len(line.encode()) + 1
            if room < 0 and count:
                return "\n".join(lines[:count]), count
            if room < 0:
                cut = line.encode()[: self._limits.read_bytes].decode("utf-8", "ignore")
                return f"{cut}\n[this line goes on for {len(line) - len(cut):,} characters]", 1
        return "\n".join(lines), len(lines)

    def _change(self, arguments: dict[str, str], work_dir: Path) -> str:
        path = arguments["path"]
        with self._changing:
            before, after = before_and_after(arguments, work_dir, self._limits.file_bytes)
            content = after.encode("utf-8", "replace")
            if len(content) > self._limits.file_bytes:
                raise Refused(
                    f"{path!r} would have {len(content):,} bytes, more than {self._limits.file_bytes:,}"
                )
            write_file(work_dir, path, content)
        made = change(path, before, after)
        return f"wrote {path}: +{made.added:,} −{made.removed:,} lines, now {len(content):,} bytes"


def _remark(kind: str, size: int) -> str:
    match kind:
        case "file":
            return f"  {size:,} bytes"
        case "folder":
            return "/"
        case "link":
            return "  link, not followed"
        case _:
            return f"  {kind}"


def before_and_after(arguments: Mapping[str, Any], folder: Path, largest: int) -> tuple[str, str]:
    """The text of the file that a call is about, now and then."""
    path = str(arguments["path"])
    parts_of(path, writing=True)
    try:
        content = read_file(folder, path, largest)
    except Absent:
        content = b""
    if "content" in arguments:
        return content.decode("utf-8", "replace"), str(arguments["content"])
    try:
        before = content.decode()
    except UnicodeDecodeError as error:
        raise Refused(f"{path!r} is not UTF-8 at byte {error.start:,}; it cannot be edited as text") from None
    return before, edited(before, str(arguments["old"]), str(arguments["new"]), path)


def edited(text: str, old: str, new: str, path: str) -> str:
    times = text.count(old) if old else 0
    if times != 1:
        why = (
            f"stands {times:,} times in it; give more of what is around it"
            if times
            else "does not stand in it"
        )
        raise Refused(f"{path!r}: the old text {why}; it must match exactly, spaces and line ends included")
    return text.replace(old, new)


def change(path: str, before: str, after: str) -> Change:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    same = 0
    if old and new and len(old) + len(new) <= LARGEST_COMPARED:
        same = sum(
            block.size for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        )
    return Change(path, added=len(new) - same, removed=len(old) - same)


class Absent(Refused):
    """There is no such file."""


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
