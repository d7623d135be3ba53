"""S7: the CPU that a new process spends before it can do anything."""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS = 7

COMMANDS = {
    "folkmoot --help": [str(Path(sys.executable).parent / "folkmoot"), "--help"],
    "import folkmoot": [sys.executable, "-c", "import folkmoot"],
    "from folkmoot import Folkmoot": [sys.executable, "-c", "from folkmoot import Folkmoot"],
}


def seconds(command: list[str]) -> float:
    """The median over several processes; the first, which compiles, does not count."""
    with tempfile.TemporaryDirectory(prefix="folkmoot-bench-") as compiled:
        # Where compiling is kept from leaving anything behind, each process would compile everything anew; what
        # pip installs is compiled once.
        env = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
        return statistics.median([_once(command, env) for _ in range(REPEATS + 1)][1:])


def _once(command: list[str], env: dict[str, str]) -> float:
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # already reaped: Popen must not wait for it
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime
