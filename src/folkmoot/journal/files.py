"""Files that survive a power cut: written beside their place, synced, renamed, and the folder synced."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from folkmoot.errors import OperationFailed, WrongUse


def write_durably(path: Path, content: bytes) -> None:
    """The file is afterwards there and whole, or not there at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        _sync(descriptor)
    except OSError:
        unfinished.unlink()  # a disk that is full needs the room
        raise
    finally:
        os.close(descriptor)
    unfinished.replace(path)
    sync_folder(path.parent)


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """A place to write to; the target is afterwards there and whole, or as it was before."""
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600))
    except OSError as error:
        raise WrongUse(f"cannot write {str(target)!r}: {error.strerror}") from error
    try:
        yield unfinished
        sync_folder(unfinished)  # a file is synced like a folder
        unfinished.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        raise OperationFailed(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def make_durable_folder(path: Path) -> None:
    path.mkdir(mode=0o700, exist_ok=True)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _sync(descriptor)
    finally:
        os.close(descriptor)


def _sync(descriptor: int) -> None:
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync leaves it in the disk's cache
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)
