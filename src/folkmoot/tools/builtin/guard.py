"""Run as a script: starts one program, watches over it, and leaves nothing of it behind.

The guard adopts whatever the program starts, also what detaches itself, and ends all of it when the program ends, when
there are too many processes, or when its own stdin is closed: by a caller that has had enough, or that was killed.
It reads the job as one line of JSON from stdin; the program's output goes to stdout; how it ended is one line of JSON
on stderr. It imports nothing of the package.
"""

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

SUBREAPER, DIE_WITH_PARENT = 36, 1
"""Of prctl, on Linux."""
PROC = os.path.isdir("/proc/self")
"""Elsewhere only the program's own process group can be found."""
LOOK = 0.1
"""Seconds between two looks at how many processes there are."""
PATIENCE = 5.0
"""Seconds; a process that survives SIGKILL for longer waits for the kernel."""


def main() -> None:
    job = json.loads(read_line())
    prctl(SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    program = os.fork()
    if program == 0:
        limits = {
            resource.RLIMIT_DATA: job["memory"],
            resource.RLIMIT_FSIZE: job["file"],
            resource.RLIMIT_CORE: 0,
        }
        become(job["argv"], job["env"], job["folder"], limits)
    ended = watch(program, woken, job["processes"])
    end_all(program)
    os.write(2, json.dumps(ended).encode() + b"\n")


def read_line() -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 65536)
        if not piece:
            sys.exit("there is no job")
        line += piece
    return line


def become(argv: list[str], env: dict[str, str], folder: str, limits: dict[int, int]) -> None:
    """In the new process: the program, within its limits."""
    said = os.dup(2)
    try:
        os.setsid()
        prctl(DIE_WITH_PARENT, signal.SIGKILL)
        os.chdir(folder)
        for kind, most in limits.items():
            hard = resource.getrlimit(kind)[1]
            held = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (held, held))
        for name in ("SIGCHLD", "SIGPIPE", "SIGXFSZ"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(1, 2)
        os.execvpe(argv[0], argv, env)
    except BaseException as error:
        why = getattr(error, "strerror", None) or str(error)
        os.write(said, json.dumps({"unable": why}).encode() + b"\n")
    os._exit(127)


def watch(program: int, woken: int, most: int) -> dict[str, int]:
    while True:
        for pid, status in reaped():
            if pid == program:
                return {"code": os.waitstatus_to_exitcode(status)}
        ready, _, _ = select.select([0, woken], [], [], LOOK)
        if 0 in ready:
            return {"stopped": 1}
        if woken in ready:
            os.read(woken, 512)
        if len(below()) > most:
            return {"crowd": 1}


def end_all(program: int) -> None:
    """Whoever is killed leaves its children to the guard, so the next round finds them."""
    if not PROC:
        with suppress(OSError):
            os.killpg(program, signal.SIGKILL)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        for pid in below():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        list(reaped())
        if not below():
            return
        time.sleep(0.002)


def reaped() -> Iterator[tuple[int, int]]:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        yield pid, status


def below() -> set[int]:
    """All processes under the guard, however far; none where there is no /proc."""
    parents = {}
    for name in os.listdir("/proc") if PROC else ():
        if name.isdigit():
            with suppress(OSError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    found: set[int] = set()
    new = {os.getpid()}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found
        found |= new
    return found


def prctl(what: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


if __name__ == "__main__":
    main()
