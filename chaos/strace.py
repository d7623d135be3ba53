"""Puts a life under strace: to write down what it does to its files, or to make the system calls of its choice fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaos.life import Life

CALLS = "openat,write,pwrite64,ftruncate,fsync,fdatasync,rename,unlink,mkdir,close"
"""Everything that a journal and its artifacts do to the disk, by the names that they use here."""


def installed() -> bool:
    return shutil.which("strace") is not None


@contextmanager
def traced(life: Life, *options: str, output: Path = Path(os.devnull)) -> Iterator[None]:
    """Begin a life when strace has hold of it; it must be over at the end of the block."""
    command = ["strace", "-f", "-o", str(output), *options, "-p", str(life.pid)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        for line in strace.stderr:
            if "attached" in line:
                break
        else:
            life.kill()
            life.over()
            raise RuntimeError(f"strace could not attach to process {life.pid}")
        life.begin()
        yield
        strace.communicate()


_CALL = re.compile(r"(\d+) +(\w+)\((.*)")
_UNFINISHED, _RESUMED = " <unfinished ...>", re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)")


def finished_calls(output: Path) -> Iterator[tuple[int, int, str, str]]:
    """Each call as (line where it began, line where it ended, name, text from its arguments on), by its end."""
    begun: dict[tuple[str, str], tuple[int, str]] = {}
    with output.open() as lines:
        for number, line in enumerate(lines):
            line = line.rstrip("\n")
            if resumed := _RESUMED.match(line):
                pid, name, rest = resumed.groups()
                start, text = begun.pop((pid, name))
                yield start, number, name, text + rest
            elif call := _CALL.match(line):
                pid, name, rest = call.groups()
                if rest.endswith(_UNFINISHED):
                    begun[pid, name] = (number, rest.removesuffix(_UNFINISHED))
                else:
                    yield number, number, name, rest
