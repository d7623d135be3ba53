"""All built-in tools by the names that agent files use."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from folkmoot.domain.message import ToolResult
from folkmoot.domain.settings import Builtins, FileLimits, ProcessLimits
from folkmoot.tools.builtin.change import before_and_after, change
from folkmoot.tools.builtin.folder import MOST_SEEN, look, read_file, shown, write_file
from folkmoot.tools.builtin.process import run_program, run_script
from folkmoot.tools.builtin.refused import Refused
from folkmoot.tools.builtin.web import Web
from folkmoot.tools.functions import FunctionTool, in_thread


def builtin_tools(limits: Builtins, env: Mapping[str, str]) -> dict[str, FunctionTool]:
    """Nothing is kept from one call to the next, so sessions cannot learn of each other.

    What they read is the text of whoever wrote the file, the page or the program's output.
    A write may be repeated: it leaves the same file. An edit may not: what it inserts could stand there twice.
    """
    files, search, programs, web = (
        Files(limits.files),
        Search(limits.files),
        Programs(limits, env),
        Web(limits.web),
    )
    return {
        "files.read": FunctionTool(files.read, "pure", "read", untrusted=True),
        "files.list": FunctionTool(files.list, "pure", "read", untrusted=True),
        "files.search": FunctionTool(search.search, "pure", "read", untrusted=True),
        "files.write": FunctionTool(files.write, "keyed", "write", "medium"),
        "files.edit": FunctionTool(files.edit, "once", "write", "medium"),
        "shell": FunctionTool(programs.shell, "once", "exec", "high", untrusted=True),
        "python": FunctionTool(programs.python, "once", "exec", "high", untrusted=True),
        "web.fetch": FunctionTool(web.fetch, "pure", "egress", untrusted=True),
    }


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


LONGEST_CODE = 100_000
"""Bytes; the system takes no longer argument."""


class Programs:
    def __init__(self, limits: Builtins, env: Mapping[str, str]) -> None:
        self._shell, self._python = limits.shell, limits.python
        self._env = env

    async def shell(self, argv: list[str], work_dir: Path) -> ToolResult:
        """Run a program in the working folder and wait for its end.

        `argv` is the program and its arguments, each as it is: there is no shell, so quotes, `*`, `|`, `>` and `$`
        mean nothing special. Stdin is empty. Nothing that the program started goes on after the call.
        """
        if not argv or not argv[0] or argv[0].startswith("-"):
            raise Refused("`argv` must begin with the name of a program")
        if any("\0" in each for each in argv):
            raise Refused("an argument holds a NUL, which no program can be given")
        return await run_program(argv, work_dir, self._named(self._shell), self._shell)

    async def python(self, code: str, work_dir: Path) -> ToolResult:
        """Run Python code in a process of its own in the working folder; you read what it prints."""
        if "\0" in code or len(code.encode()) > LONGEST_CODE:
            raise Refused(f"the code must have at most {LONGEST_CODE:,} bytes and no NUL; write it to a file")
        argv = [sys.executable, "-I", "-B", "-X", "utf8", "-c", code]
        return await run_program(argv, work_dir, self._named(self._python), self._python)

    def _named(self, limits: ProcessLimits) -> dict[str, str]:
        return {name: self._env[name] for name in limits.env if name in self._env}


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
        made = json.loads(
            await run_script("matcher.py", json.dumps(asked).encode(), self._limits.search_time)
        )
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
