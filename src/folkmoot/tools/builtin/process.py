"""Run one program under the guard, with nothing of it left afterwards; or work on foreign text in a process of its own.

A regular expression and an HTML parser can be made to compute for hours, and no thread can be stopped. The scripts
of this folder (`guard.py`, `foreign.py`) import nothing of the package.
"""

from __future__ import annotations

import asyncio
import json
import math
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from folkmoot.domain.message import ToolResult
from folkmoot.domain.settings import ProcessLimits
from folkmoot.tools.functions import Refused

PATH = "/usr/local/bin:/usr/bin:/bin"
FLOOD = 100_000_000
"""Bytes; whoever writes more is ended, because nobody will read it."""
_GRACE = 6.0
"""Seconds that the guard has to end everything; a little more than its own patience."""


class ProgramOutput:
    """The beginning and the end of a long output; what lies between is only counted."""

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        self._head, self._tail = bytearray(), bytearray()
        self.count = 0

    def take(self, piece: bytes) -> None:
        self.count += len(piece)
        room = self._half - len(self._head)
        self._head += piece[:room]
        self._tail += piece[max(room, 0) :]
        del self._tail[: -self._half]

    @property
    def text(self) -> str:
        left = self.count - len(self._head) - len(self._tail)
        between = f"\n[… {left:,} bytes left out …]\n".encode() if left else b""
        return (self._head + between + self._tail).decode("utf-8", "replace")


async def run_program(
    argv: Sequence[str], folder: Path, env: Mapping[str, str], limits: ProcessLimits
) -> ToolResult:
    """Its exit code and its output, stdout and stderr as they came. Raises `Refused` if it cannot be started."""
    guard = await _start("guard.py")
    assert guard.stdin is not None
    output, why = ProgramOutput(limits.output_bytes), ""
    said = b""
    try:
        guard.stdin.write(_job(argv, folder, env, limits))
        async with asyncio.timeout(limits.time or None):
            why = await _collect(guard, output)
    except TimeoutError:
        why = f"stopped after {limits.time:g} s"
    finally:
        # The guard ends everything as soon as this is closed, whether anybody still waits for it or not.
        guard.stdin.close()
        said = await _dismissed(guard)
    return _told(argv, said, why, output, limits)


async def _collect(guard: asyncio.subprocess.Process, output: ProgramOutput) -> str:
    """Until the guard is gone, and with it everybody who could write."""
    assert guard.stdout is not None
    while piece := await guard.stdout.read(65_536):
        output.take(piece)
        if output.count > FLOOD:
            return f"stopped after {FLOOD:,} bytes of output"
    return ""


async def _dismissed(guard: asyncio.subprocess.Process) -> bytes:
    """What the guard said at its end."""
    try:
        async with asyncio.timeout(_GRACE):
            return (await guard.communicate())[1]
    except TimeoutError:
        guard.kill()
        return (await guard.communicate())[1]


def _job(argv: Sequence[str], folder: Path, env: Mapping[str, str], limits: ProcessLimits) -> bytes:
    job = {
        "argv": list(argv),
        "folder": str(folder),
        "env": {"PATH": PATH, "LANG": "C.UTF-8", **env},
        "processes": limits.processes,
        "memory": limits.memory_bytes,
        "file": limits.file_bytes,
    }
    return json.dumps(job).encode() + b"\n"


def _told(
    argv: Sequence[str], said: bytes, why: str, output: ProgramOutput, limits: ProcessLimits
) -> ToolResult:
    try:
        ended = json.loads(said.partition(b"\n")[0])
    except ValueError:
        ended = {}
    if unable := ended.get("unable"):
        raise Refused(f"{argv[0]!r} cannot be started: {unable}")
    if ended.get("crowd"):
        why = f"stopped because it had more than {limits.processes:,} processes"
    elif not why and "code" not in ended:
        why = "its guard was killed"
    how = why or _ended(ended["code"])
    return ToolResult(text=f"{how}\n{output.text}".rstrip("\n"), failed=bool(why))


def _ended(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"ended by {signal.Signals(-code).name}"


async def run_script(job: str, given: bytes, seconds: float) -> bytes:
    """What `foreign.py` makes of `given`. Raises `Refused` if it takes too long."""
    process = await _start("foreign.py", job, str(math.ceil(seconds)))
    try:
        async with asyncio.timeout(seconds or None):
            made, _ = await process.communicate(given)
    except TimeoutError:
        raise Refused(
            f"it took longer than {seconds:g} s; look for something simpler, or in fewer files"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    if process.returncode:
        raise Refused("it could not be worked out; look for something simpler")
    return made


async def _start(script: str, *arguments: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-X", "utf8", str(Path(__file__).parent / script), *arguments,
        stdin=pipe, stdout=pipe, stderr=pipe, env={}, start_new_session=True,
    )  # fmt: skip
