"""Commands that a page leaves running behind it: `$ command &`, until `$ kill %1` or the end of the page."""

import re
import signal
import subprocess
from collections.abc import Callable
from threading import Timer

_KILL = re.compile(r"kill (?P<hard>-9 )?%(?P<number>\d+)")
_LONGEST = 100.0


class Jobs:
    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, command: str, enough: Callable[[str], bool]) -> tuple[int, str]:
        """What it prints up to the line that is enough; with its exit code, if it ended before."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command.removesuffix('&')}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._processes.append(process)
        assert process.stdout is not None
        watchdog = Timer(_LONGEST, process.kill)
        watchdog.start()
        printed = ""
        for line in process.stdout:
            printed += line
            if enough(line):
                watchdog.cancel()
                return 0, printed
        watchdog.cancel()
        return process.wait() or 1, printed

    def killed(self, command: str) -> bool:
        """Whether the command was to kill one of them, which is gone then."""
        meant = _KILL.fullmatch(command)
        if meant:
            hard = bool(meant["hard"])
            _end(self._processes.pop(int(meant["number"]) - 1), signal.SIGKILL if hard else signal.SIGTERM)
        return bool(meant)

    def end(self) -> None:
        for process in self._processes:
            _end(process, signal.SIGKILL)


def _end(process: subprocess.Popen[str], how: signal.Signals) -> None:
    process.send_signal(how)
    if process.stdout is not None:
        process.stdout.read()
        process.stdout.close()
    process.wait()
