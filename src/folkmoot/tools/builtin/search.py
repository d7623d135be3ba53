"""`files.search`: the lines of the working folder's files that hold a text."""

from __future__ import annotations

import json
import re
from pathlib import Path

from folkmoot.domain.builtins import FileLimits
from folkmoot.tools.builtin.aside import aside
from folkmoot.tools.builtin.folder import look, read_file, shown
from folkmoot.tools.builtin.refused import Refused
from folkmoot.tools.functions import in_thread

MOST_SHOWN, WIDTH = 100, 200
MOST_BYTES = 20_000_000
"""Of all files that one search looks into."""


class Search:
    def __init__(self, limits: FileLimits) -> None:
        self._limits = limits

    async def search(
        self, text: str, work_dir: Path, path: str = ".", regex: bool = False, ignore_case: bool = False
    ) -> str:
        """Find the lines that hold `text` in all text files of a folder, or in one file; `regex`: that match it."""
        if not text:
            raise Refused("there is nothing to search for; give a text")
        files, skipped = await in_thread(lambda: self._texts(work_dir, path))
        asked = {
            "pattern": text if regex else re.escape(text),
            "ignore_case": ignore_case,
            "files": files,
            "most": MOST_SHOWN,
            "width": WIDTH,
        }
        made = json.loads(await aside("matcher.py", json.dumps(asked).encode(), self._limits.search_time))
        if "wrong" in made:
            raise Refused(
                f"{text!r} is no regular expression: {made['wrong']}; leave `regex` out to find it as it is"
            )
        lines = [f"{shown(file)}:{number}: {line}" for file, number, line in made["found"]]
        if left := made["count"] - len(lines):
            lines.append(
                f"[{len(lines):,} of {made['count']:,} lines; {left:,} left: search in a folder below]"
            )
        if not lines:
            advice = "try `ignore_case` or a shorter text; files.list shows what is there"
            lines.append(f"[no line of {len(files):,} files holds it; {advice}]")
        if skipped:
            lines.append(f"[{skipped:,} files were not searched: binary or too large]")
        return "\n".join(lines)

    def _texts(self, work_dir: Path, path: str) -> tuple[list[tuple[str, str]], int]:
        """Every file with its text, and how many have none."""
        texts: list[tuple[str, str]] = []
        room, skipped = MOST_BYTES, 0
        for file in self._names(work_dir, path):
            try:
                content = read_file(work_dir, file, min(room, self._limits.file_bytes))
            except Refused:
                content = b"\0"
            if b"\0" in content:
                skipped += 1
            else:
                room -= len(content)
                texts.append((file, content.decode("utf-8", "replace")))
        return texts, skipped

    def _names(self, work_dir: Path, path: str) -> list[str]:
        try:
            return [each.path for each in look(work_dir, path, deep=True) if each.kind == "file"]
        except Refused:
            read_file(work_dir, path, self._limits.file_bytes)  # it says what is wrong, unless it is a file
            return [path]
