"""S7: the CPU that a new process spends before it can do anything."""

import os
import statistics
import subprocess
import sys
from pathlib import Path

REPEATS = 7

COMMANDS = {
    "folkmoot --help": [str(Path(sys.executable).parent / "folkmoot"), "--help"],
    "import folkmoot": [sys.executable, "-c", "import folkmoot"],
    "from folkmoot import Folkmoot": [sys.executable, "-c", "from folkmoot import Folkmoot"],
}


def seconds(command: list[str]) -> float:
    """The median over several processes; the first, which may have to compile, does not count."""
    return statistics.median([_once(command) for _ in range(REPEATS + 1)][1:])


def _once(command: list[str]) -> float:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # already reaped: Popen must not wait for it
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime
