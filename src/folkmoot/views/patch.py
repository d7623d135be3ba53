"""What a call would change in a file, line by line: as people read a diff."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from folkmoot.domain.message import visible
from folkmoot.domain.value import Value

LARGEST_COMPARED = 2_000
"""Lines; a file with more is compared less finely."""
_AROUND = 3
"""Lines that are shown before and after a change."""


class PatchLine(Value):
    form: str
    """`add`, `del`, `hop` for a place where lines are left out, or empty."""
    text: str
    old: str = ""
    """The number of the line before, and after, the change."""
    new: str = ""


class Patch(Value):
    path: str
    added: int
    removed: int
    lines: tuple[PatchLine, ...]


def patch(path: str, before: str, after: str) -> Patch:
    old, new = before.splitlines(), after.splitlines()
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) + len(new) > LARGEST_COMPARED)
    lines: list[PatchLine] = []
    for group in matcher.get_grouped_opcodes(_AROUND):
        first, last = group[0][3], group[-1][4]
        lines.append(PatchLine("hop", f"lines {first + 1:,} to {last:,} of {len(new):,}"))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [
                    PatchLine("", visible(old[i]), str(i + 1), str(j + 1))
                    for i, j in zip(range(i1, i2), range(j1, j2), strict=True)
                ]
            else:
                lines += _changed(old[i1:i2], i1, "del")
                lines += _changed(new[j1:j2], j1, "add")
    added = sum(line.form == "add" for line in lines)
    return Patch(path, added, sum(line.form == "del" for line in lines), tuple(lines))


def _changed(texts: list[str], start: int, form: str) -> Iterator[PatchLine]:
    for at, text in enumerate(texts, start + 1):
        old, new = (str(at), "") if form == "del" else ("", str(at))
        yield PatchLine(form, visible(text), old, new)
