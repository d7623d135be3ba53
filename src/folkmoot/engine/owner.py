"""Who runs a run: a name unique to this start of this process, and whether such a process still lives."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from folkmoot.ports import Journal


def this_process() -> str:
    return f"{socket.gethostname()}/{os.getpid()}/{_started(os.getpid())}/{os.urandom(4).hex()}"


def is_gone(owner: str) -> bool:
    """True only if the owner ran on this machine and surely ended; of other machines nothing is known."""
    host, _, rest = owner.partition("/")
    pid, _, rest = rest.partition("/")
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _started(int(pid)) != rest.partition("/")[0]


async def holder(journal: Journal, run_id: str) -> str:
    """Who has its lease; empty if nobody."""
    for claim in await journal.claims():
        if claim.run == run_id and claim.live and not is_gone(claim.owner):
            return claim.owner
    return ""


def _started(pid: int) -> str:
    """When a process started, where the system tells it: a process id alone may be used again."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]  # dead, only not buried yet
