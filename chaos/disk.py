"""What a disk holds after a power cut: all that was synced, and of the rest whatever chance left there.

Rebuilt from the system calls of a process. A file is known by its inode, its names by the folders they stand in:
syncing a file makes its content certain, only syncing its folder makes its name so.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from chaos.life import effects, promises
from chaos.strace import finished_calls

SECTOR = 512
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_PATH = re.compile(r"\d+<((?:\\x[0-9a-f]{2})*)>")
_FOLDER = -1
"""Stands for the inode of every folder."""


class Write(NamedTuple):
    ended: int
    offset: int
    data: bytes


class Truncate(NamedTuple):
    ended: int
    size: int


class Name(NamedTuple):
    """`path` stands for `inode` from now on; None: for nothing any more."""

    ended: int
    path: Path
    inode: int | None
    former: Path | None = None
    """The name that it had before, if it was renamed: both change together."""


class Disk:
    """The part of it below one folder, as the calls come in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._inodes: dict[Path, int] = {}
        """As the process sees them."""
        self._positions: dict[int, int] = {}
        self._certain: list[bytearray] = []
        self._changes: list[list[Write | Truncate]] = []
        self._certain_names: dict[Path, int] = {}
        self._names: list[Name] = []
        self.promises: set[tuple[int, str]] = set()
        """What was acknowledged so far."""
        self.effects: set[str] = set()
        """The keys of the calls that were made so far."""

    def replay(self, trace: Path) -> Iterator[None]:
        """Take in one call after the other; the power may be cut after each."""
        for began, ended, name, text in finished_calls(trace):
            if " = -1 " not in text and self._happens(began, ended, name, text):
                yield

    def image(self, target: Path, dice: random.Random) -> None:
        """Write down one of the states in which a cut now may leave the disk."""
        luck = dice.choice((0.0, 0.5, 1.0, dice.random()))
        names = dict(self._certain_names)
        for name in self._names:
            if dice.random() < luck:
                _rename(names, name)
        for path, inode in sorted(names.items()):
            place = target / path.relative_to(self._folder)
            if not place.parent.is_dir():
                continue  # its folder is lost
            if inode == _FOLDER:
                place.mkdir()
            elif not path.name.endswith("-shm"):  # shared memory: nobody reads it after a cut
                place.write_bytes(self._content(inode, luck, dice))

    def _content(self, inode: int, luck: float, dice: random.Random) -> bytearray:
        content = bytearray(self._certain[inode])
        for change in self._changes[inode]:
            if dice.random() < luck:
                _apply(content, change, torn=dice if dice.random() < 0.3 else None)
        return content

    def _happens(self, began: int, ended: int, name: str, text: str) -> bool:
        if name in ("write", "pwrite64") and text.partition("<")[2].startswith(_hex("pipe:")):
            said = _bytes(text).decode(errors="replace")
            self.promises |= promises(said)
            self.effects |= effects(said)
            return bool(promises(said) or effects(said))
        path = _path(text)
        if not path.is_relative_to(self._folder) or (path == self._folder and name != "fsync"):
            return False
        match name:
            case "openat":
                return self._open(ended, path, text)
            case "mkdir":
                self._names.append(Name(ended, path, _FOLDER))
            case "rename":
                former, path = path, _unhexed(_STRING.findall(text)[1])
                self._inodes[path] = self._inodes.pop(former)
                self._names.append(Name(ended, path, self._inodes[path], former))
            case "unlink":
                self._inodes.pop(path, None)
                self._names.append(Name(ended, path, None))
            case "fsync" | "fdatasync":
                self._sync(began, path)
            case _:
                return self._change(ended, name, path, text)
        return True

    def _open(self, ended: int, path: Path, text: str) -> bool:
        if "O_DIRECTORY" in text or "O_RDONLY" in text:
            return False
        if path not in self._inodes:
            if "O_CREAT" not in text:
                return False
            self._inodes[path] = len(self._certain)
            self._certain.append(bytearray())
            self._changes.append([])
            self._names.append(Name(ended, path, self._inodes[path]))
        inode = self._inodes[path]
        self._positions[inode] = 0
        if "O_TRUNC" in text:
            self._changes[inode].append(Truncate(ended, 0))
        return True

    def _change(self, ended: int, name: str, path: Path, text: str) -> bool:
        inode = self._inodes.get(path)
        if inode is None or name == "close":
            return False
        if name == "ftruncate":
            self._changes[inode].append(Truncate(ended, int(_numbers(text)[0])))
            return True
        written = _bytes(text)[: int(text.rpartition("= ")[2])]
        offset = int(_numbers(text)[1]) if name == "pwrite64" else self._positions[inode]
        self._positions[inode] = offset + len(written)
        self._changes[inode].append(Write(ended, offset, written))
        return True

    def _sync(self, began: int, path: Path) -> None:
        if path in self._inodes:
            inode = self._inodes[path]
            for change in self._changes[inode]:
                if change.ended < began:
                    _apply(self._certain[inode], change)
            self._changes[inode] = [change for change in self._changes[inode] if change.ended >= began]
        else:
            synced = [name for name in self._names if name.path.parent == path and name.ended < began]
            for name in synced:
                _rename(self._certain_names, name)
            self._names = [name for name in self._names if name not in synced]


def _apply(content: bytearray, change: Write | Truncate, torn: random.Random | None = None) -> None:
    if isinstance(change, Truncate):
        del content[change.size :]
        content.extend(bytes(change.size - len(content)))
        return
    content.extend(bytes(max(0, change.offset + len(change.data) - len(content))))
    for start in range(0, len(change.data), SECTOR):
        if torn is None or torn.random() < 0.5:
            part = change.data[start : start + SECTOR]
            content[change.offset + start : change.offset + start + len(part)] = part


def _rename(names: dict[Path, int], name: Name) -> None:
    if name.former:
        names.pop(name.former, None)
    if name.inode is None:
        names.pop(name.path, None)
    else:
        names[name.path] = name.inode


def _path(text: str) -> Path:
    """Of the open file that a call is about, or the first that it names."""
    opened = _PATH.match(text)
    named = _STRING.search(text)
    return _unhexed(opened[1] if opened else named[1] if named else "")


def _numbers(text: str) -> list[str]:
    """The last arguments of a call, behind its data."""
    return re.findall(r"(?<=, )\d+(?=[,)])", text)


def _bytes(text: str) -> bytes:
    found = _STRING.search(text)
    return bytes.fromhex(found[1].replace("\\x", "")) if found else b""


def _unhexed(text: str) -> Path:
    return Path(bytes.fromhex(text.replace("\\x", "")).decode())


def _hex(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())
