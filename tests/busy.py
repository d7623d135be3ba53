"""A machine that has more to do than it can: what holds only while a process is never kept waiting fails beside it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LIFETIME = 300
"""Seconds after which a busy process ends by itself, should nobody end it."""
_LOOP = f"import signal; signal.alarm({LIFETIME})\nwhile True: pass"


@contextmanager
def eight_busy_processes() -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-I", "-S", "-c", _LOOP]) for _ in range(8)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
        for process in busy:
            process.wait()
