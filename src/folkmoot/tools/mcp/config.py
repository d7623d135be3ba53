"""How a server is reached and given what it needs, and how nothing of it is left.

Every process of a server bears a mark in its environment, which names the Folkmoot that started it. The mark is there
from the first moment, it is inherited by whatever the process starts, however far that goes away, and it goes with the
process: unlike a list of process ids in a file, it can neither come too late nor outlive what it speaks of.
"""

from __future__ import annotations

import os
import select
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from folkmoot.domain.naming import VARIABLE
from folkmoot.domain.settings import ToolSource
from folkmoot.errors import ServerFailed

MARK = "FOLKMOOT_SERVER"
_VARIABLE = f"{MARK}=".encode()
_DYING = 1.0
"""Seconds; far more than it takes to die."""
_ROUNDS = 20
"""A process may start another while it is being looked for."""
LONGEST = 16_000_000
"""Bytes of one message from a server. Nothing that a model could read is longer."""
_EVERYBODYS = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""What every process gets; all else must be named by its entry."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    name: str
    """Of the source in the settings."""
    source: ToolSource
    folder: Path
    """Of the project."""
    env: Mapping[str, str]
    mark: str
    """Borne by the server's process and by all that it starts."""

    @property
    def shown(self) -> str:
        """For people: the exact command line, or the address."""
        return shlex.join(self.source.command) or self.source.url or ""

    @property
    def cwd(self) -> Path:
        return self.folder / (self.source.cwd or "")

    def environment(self) -> dict[str, str]:
        given = {name: self.env[name] for name in _EVERYBODYS if name in self.env}
        named = {name: self._value(name) for name in self.source.env}
        return {"PATH": os.defpath, **given, **named, MARK: self.mark}

    def headers(self) -> dict[str, str]:
        """With the values of the variables that they name as `${NAME}`."""
        return {
            name: VARIABLE.sub(lambda found: self._value(found[1]), text)
            for name, text in self.source.headers.items()
        }

    def failed(self, why: str, remedy: str) -> ServerFailed:
        return ServerFailed(f"the tool server {self.name!r} did not start: {why} ({self.shown}); {remedy}")

    def _value(self, variable: str) -> str:
        if not self.env.get(variable):
            raise self.failed(f"it needs ${variable}", "set this environment variable")
        return self.env[variable]


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
