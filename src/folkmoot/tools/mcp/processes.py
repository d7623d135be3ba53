"""Processes that were started for a project, found by the mark that each bears in its environment.

The mark names the Folkmoot that started it. So it is there from the first moment of a process, it is inherited by
whatever the process starts, however far that goes away, and it goes with the process: unlike a list of process ids in a
file, it can neither come too late nor outlive what it speaks of.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

MARK = "FOLKMOOT_SERVER"
_VARIABLE = f"{MARK}=".encode()
_DYING = 1.0
"""Seconds; far more than it takes to die."""
_ROUNDS = 20
"""A process may start another while it is being looked for."""


def end_processes(is_meant: Callable[[str], bool]) -> int:
    """Kill every process of this user whose mark is meant; how many that were.

    Where the system does not tell what a process's environment is (other than Linux), none is found.
    """
    ended: set[int] = set()
    for _ in range(_ROUNDS):
        found = {pid for pid in _pids() if _end(pid, is_meant)}
        if found <= ended:
            break
        ended |= found
    return len(ended)


def _end(pid: int, is_meant: Callable[[str], bool]) -> bool:
    """The process is held by a descriptor before it is looked at: its number may pass to another any time."""
    mark = _mark(pid)
    if not mark or not is_meant(mark):
        return False
    with suppress(OSError):
        held = os.pidfd_open(pid)
        try:
            if _mark(pid) == mark:
                signal.pidfd_send_signal(held, signal.SIGKILL)
                select.select([held], [], [], _DYING)
                return True
        finally:
            os.close(held)
    return False


def _mark(pid: int) -> str:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return ""
    if not environment.startswith(_VARIABLE):
        environment = environment.partition(b"\0" + _VARIABLE)[2]
    else:
        environment = environment.removeprefix(_VARIABLE)
    return environment.partition(b"\0")[0].decode(errors="replace")


def _pids() -> Iterator[int]:
    with suppress(OSError):
        for path in Path("/proc").iterdir():
            if path.name.isdigit() and int(path.name) != os.getpid():
                yield int(path.name)
