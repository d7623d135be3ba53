"""`shell` and `python`: programs that run beside the runtime, each under its guard."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from folkmoot.domain.builtins import Builtins, ProcessLimits
from folkmoot.domain.message import ToolResult
from folkmoot.tools.builtin.process import run_program
from folkmoot.tools.builtin.refused import Refused

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
