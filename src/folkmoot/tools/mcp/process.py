"""One server as a process: messages as lines, one after the other, and an end that leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import anyio
import mcp_types
from mcp.shared.message import SessionMessage

from folkmoot.tools.mcp.config import LONGEST, ServerConfig, end_processes

MOST_NOISE = 10_000
"""Lines that are no messages, in a row."""
_LAST_WORDS = 2_000
"""Bytes of what it wrote to stderr that are kept."""
_REST = 0.2
"""Seconds between the first sign of its end and the last."""
_GRACE = 1.0
"""Seconds until it is asked, and until it is made, to end."""


class Process(asyncio.SubprocessProtocol):
    """Both streams that the SDK asks of a transport: it is read from as `async for`, and written to with `send`."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        """Bytes in them."""
        self._begun = bytearray()
        """A line that has no end yet."""
        self._noise = 0
        self._words = b""
        self._news = asyncio.Event()
        self.at_end = False
        self._exited = asyncio.Event()
        self._stopped = False
        """Whether it was still alive when it had to end."""
        self.heard = 0
        """Bytes so far: a sign of life."""
        self.fault = ""

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: self,
                *self._config.source.command,
                env=self._config.environment(),
                cwd=self._config.cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            remedy = "install it, or correct its entry under `tools` in folkmoot.yaml"
            raise self._config.failed(why, remedy) from None
        self._transport = transport
        self._stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
        self._stdout = cast(asyncio.ReadTransport, transport.get_pipe_transport(1))

    def account(self) -> str:
        """How it is with this process, for people."""
        code = self._transport.get_returncode()
        how = self.fault or ("" if code is None or self._stopped else f"it ended by {_ended_by(code)}")
        words = self._words.decode(errors="replace").strip()
        noise = "" if not self._noise else "it writes to stdout what is no message"
        return "; ".join(part for part in (how, noise, words and f"it said: {words}") if part)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._words = (self._words + data)[-_LAST_WORDS:]
            return
        self.heard += len(data)
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._lines.append(bytes(self._begun) + part if self._begun else part)
            self._waiting += len(self._lines[-1])
            self._begun.clear()
        self._begun += rest
        if len(self._begun) > LONGEST:
            self._give_up(f"it wrote a line of more than {LONGEST:,} bytes")
        elif self._waiting > LONGEST:
            self._stdout.pause_reading()
        self._news.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._soon_over()

    def process_exited(self) -> None:
        self._exited.set()
        self._soon_over()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended, and all that it wrote has come."""
        self._end_of_lines()

    def _soon_over(self) -> None:
        """The rest comes at once; only what it started may hold a pipe open for ever."""
        asyncio.get_running_loop().call_later(_REST, self._end_of_lines)

    def _end_of_lines(self) -> None:
        self.at_end = True
        self._news.set()

    def _give_up(self, fault: str) -> None:
        self.fault = fault
        self._begun.clear()
        self._lines.clear()
        self._end_of_lines()
        self._signal(signal.SIGKILL)

    async def receive(self) -> SessionMessage | Exception:
        while True:
            while not self._lines:
                if self.at_end:
                    raise anyio.EndOfStream
                self._news.clear()
                await self._news.wait()
            if message := self._message(self._lines.popleft()):
                return message

    def _message(self, line: bytes) -> SessionMessage | None:
        """Servers print what they please; what is no message is left out, until it is nothing but that."""
        was = self._waiting
        self._waiting -= len(line)
        if was > LONGEST >= self._waiting and not self._stdout.is_closing():
            self._stdout.resume_reading()
        try:
            message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._noise += bool(line.strip())
            if self._noise > MOST_NOISE:
                self._give_up(f"it wrote {MOST_NOISE:,} lines that are no messages")
            return None
        self._noise = 0
        return SessionMessage(message)

    def __aiter__(self) -> Process:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def send(self, item: SessionMessage, /) -> None:
        if self.at_end or self._stdin.is_closing():
            raise anyio.ClosedResourceError
        self._stdin.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def aclose(self) -> None:
        """Its end is the affair of who started it."""

    async def __aenter__(self) -> Process:
        return self

    async def __aexit__(self, *_: Any) -> None:
        return None

    async def stop(self) -> None:
        """It may end by itself when nobody speaks to it any more; then it is asked, then it is made to."""
        self._stopped = not self._exited.is_set()
        try:
            self._stdin.close()
            if not self.fault and not await self._ends():
                self._signal(signal.SIGTERM)
                await self._ends()
        finally:
            self._signal(signal.SIGKILL)
            end_processes(lambda mark: mark == self._config.mark)
            self._transport.close()
            await self._ends()

    async def _ends(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await self._exited.wait()
        return self._exited.is_set()

    def _signal(self, number: signal.Signals) -> None:
        """To it and to all that it started and that did not leave its group."""
        if self._exited.is_set() and sys.platform == "linux":
            return  # its number may be another's by now; what it started is found by its mark
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), number)


@asynccontextmanager
async def running(process: Process) -> AsyncIterator[tuple[Process, Process]]:
    """The process as a transport of the SDK."""
    await process.start()
    try:
        yield process, process
    finally:
        await process.stop()


def _ended_by(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
