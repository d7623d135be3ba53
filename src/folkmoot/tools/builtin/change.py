"""How much a call of `files.write` or `files.edit` changes, known before it is made and said after it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from folkmoot.domain.sources import Change
from folkmoot.tools.builtin.folder import parts_of, read_file
from folkmoot.tools.builtin.refused import Absent, Refused

LARGEST_COMPARED = 2_000
"""Lines; of more, all that lie between the first and the last difference count as changed."""


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
