"""What somebody attaches to a request is read, checked and kept before the run begins: nothing is paid for in vain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from pathlib import Path

from msgspec.structs import replace

from folkmoot.domain.errand import Errand
from folkmoot.domain.part import LARGEST, LARGEST_TOGETHER, MOST, File, objection, recorded
from folkmoot.domain.text import storable
from folkmoot.errors import WrongUse

Enclosure = File | Path | str
"""A file, or where it lies."""


def read_files(given: Iterable[Enclosure]) -> list[File]:
    """Raises `WrongUse` with everything that speaks against them."""
    files = [each if isinstance(each, File) else _read(Path(each)) for each in given]
    if objections := [text for file in files if (text := objection(file))]:
        raise WrongUse("\n".join(objections))
    together = sum(len(file.content) for file in files)
    if len(files) > MOST or together > LARGEST_TOGETHER:
        raise WrongUse(
            f"{len(files)} files with {together:,} bytes are attached; {MOST} with {LARGEST_TOGETHER:,} may be"
        )
    return files


def fitting(files: Sequence[File]) -> list[File]:
    """The first of them that may go along together."""
    sizes = accumulate(len(file.content) for file in files)
    return [file for file, size in zip(files[:MOST], sizes, strict=False) if size <= LARGEST_TOGETHER]


def enclosed(errand: Errand, given: Sequence[Enclosure], keep: Callable[[bytes], str]) -> Errand:
    """The errand with these files, of which `keep` has the content from here on."""
    parts = (recorded(file, keep(file.content)) for file in read_files(given))
    return replace(errand, attachments=(*errand.attachments, *parts))


def _read(path: Path) -> File:
    try:
        with path.open("rb") as file:
            content = file.read(max(LARGEST.values()) + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise WrongUse(f"{str(path)!r} cannot be attached: {why}") from None
    return File(storable(path.name), content)
