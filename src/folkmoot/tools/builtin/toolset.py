"""All built-in tools by the names that agent files use."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from folkmoot.domain.message import ToolResult
from folkmoot.domain.settings import (
    Builtins,
    FileLimits,
    ProcessLimits,
    WebLimits,
)
from folkmoot.tools.builtin.files import Files, look, read_file, shown
from folkmoot.tools.builtin.process import run_program, run_script
from folkmoot.tools.functions import FunctionTool, Refused, in_thread


def builtin_tools(limits: Builtins, env: Mapping[str, str]) -> dict[str, FunctionTool]:
    """Nothing is kept from one call to the next, so sessions cannot learn of each other.

    What they read is the text of whoever wrote the file, the page or the program's output.
    A write may be repeated: it leaves the same file. An edit may not: what it inserts could stand there twice.
    """
    files, search = Files(limits.files), Search(limits.files)
    programs, pages = Programs(limits, env), Pages(limits.web)
    return {
        "files.read": FunctionTool(files.read, "pure", "read", untrusted=True),
        "files.list": FunctionTool(files.list, "pure", "read", untrusted=True),
        "files.search": FunctionTool(search.search, "pure", "read", untrusted=True),
        "files.write": FunctionTool(files.write, "keyed", "write", "medium"),
        "files.edit": FunctionTool(files.edit, "once", "write", "medium"),
        "shell": FunctionTool(programs.shell, "once", "exec", "high", untrusted=True),
        "python": FunctionTool(programs.python, "once", "exec", "high", untrusted=True),
        "web.fetch": FunctionTool(pages.fetch, "pure", "egress", untrusted=True),
    }


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
        made = json.loads(await run_script("search", json.dumps(asked).encode(), self._limits.search_time))
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


class Pages:
    def __init__(self, limits: WebLimits) -> None:
        self._limits = limits

    async def fetch(self, url: str) -> ToolResult:
        """Get a page of the web, http or https, and read its text."""
        from folkmoot.tools.builtin.web import Web  # aiohttp takes its time, and most runs fetch nothing

        return await Web(self._limits).fetch(url)
