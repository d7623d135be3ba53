"""The process that sees what really happens: every request to a model and every delivery of a tool call.

It is a process of its own, so that what it wrote down outlives whoever is killed. It speaks lines of JSON, and ends
when whoever started it lets go of its stdin.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
MOMENT = 0.003
"""Seconds."""
ROUNDS = 100
"""Of the event loop, in which everything is read that was sent before."""


class Seen(NamedTuple):
    life: int
    """Which process of the batch did it, from 1."""
    what: str
    """`model` or `tool`."""
    key: str
    effect: str = ""


class Reporter(asyncio.Protocol):
    """The side of the process that acts: reports, and waits until it is written down."""

    def __init__(self, life: int) -> None:
        self._life = life
        self._dice = random.Random(life)
        self._waiting: deque[asyncio.Future[None]] = deque()

    @classmethod
    async def connect(cls, port: int, life: int) -> Reporter:
        _, reporter = await asyncio.get_running_loop().create_connection(lambda: cls(life), "127.0.0.1", port)
        return reporter

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        for _ in range(data.count(b"\n")):
            done = self._waiting.popleft()
            if not done.done():
                done.set_result(None)

    async def report(self, what: str, *, key: str, effect: str = "") -> None:
        """With a moment before and after, in which it has not happened yet or is not known yet."""
        await asyncio.sleep(self._dice.random() * MOMENT)
        await self._told(what, key, effect)
        await asyncio.sleep(self._dice.random() * MOMENT)

    async def _told(self, what: str, key: str, effect: str) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        self._transport.write(json.dumps([self._life, what, key, effect]).encode() + b"\n")
        await done

    def close(self) -> None:
        self._transport.close()


@contextmanager
def witness() -> Iterator[int]:
    """Yields the port."""
    with subprocess.Popen(
        [sys.executable, "-m", "chaos.witness"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())


def tell(port: int, *, forget: bool = False, now: bool = False) -> list[Seen]:
    """Everything seen since it last forgot. It waits for what the dead had sent before they died; `now` does not wait
    for those who live."""
    with socket.create_connection(("127.0.0.1", port), timeout=300) as line:
        line.sendall(b"forget\n" if forget else b"now\n" if now else b"tell\n")
        with line.makefile("rb") as answer:
            return [Seen(*seen) for seen in json.loads(answer.readline())]


class _Witness:
    def __init__(self) -> None:
        self._seen: list[list[object]] = []
        self._reporting = 0
        self._quiet = asyncio.Condition()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reporting = True  # until it asks, so that nobody who is waiting to be heard is overlooked
        self._reporting += 1
        try:
            while line := await reader.readline():
                if line in (b"tell\n", b"forget\n", b"now\n"):
                    self._reporting -= reporting
                    reporting = False
                    if line == b"now\n":
                        for _ in range(ROUNDS):
                            await asyncio.sleep(0)
                    else:
                        async with self._quiet:
                            await self._quiet.wait_for(lambda: not self._reporting)
                    writer.write(json.dumps(self._seen).encode() + b"\n")
                    self._seen = [] if line == b"forget\n" else self._seen
                elif line.endswith(b"\n"):
                    self._seen.append(json.loads(line))
                    if not writer.is_closing():  # the dead need no answer
                        writer.write(b"\n")
        except ConnectionError:
            pass
        finally:
            self._reporting -= reporting
            async with self._quiet:
                self._quiet.notify_all()
            writer.close()


async def _main() -> None:
    server = await asyncio.start_server(_Witness().serve, "127.0.0.1", 0, limit=2**20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_main())
