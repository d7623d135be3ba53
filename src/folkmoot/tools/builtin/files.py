"""`files.read`, `write`, `edit` and `list`: an agent's way to the files of its working folder."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from folkmoot.domain.builtins import FileLimits
from folkmoot.tools.builtin.change import before_and_after, change
from folkmoot.tools.builtin.folder import MOST_SEEN, look, read_file, shown, write_file
from folkmoot.tools.builtin.refused import Refused

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
