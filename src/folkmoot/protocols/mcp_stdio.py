"""The MCP server on stdin and stdout, which carry the protocol and nothing else."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from anyio import wrap_file
from mcp.server import Server
from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from anyio import AsyncFile

_CHUNK = 65_536


async def serve_stdio(server: Server[Any]) -> None:
    """Until stdin ends, or this is cancelled; either way the runs under way are cancelled first.

    Meanwhile stdin is empty and stdout leads to stderr, for tools and for all that they start.
    """
    with (
        _redirect_descriptor(0, os.open(os.devnull, os.O_RDONLY)) as incoming,
        _redirect_descriptor(1, os.dup(2)) as outgoing,
    ):
        try:
            with os.fdopen(outgoing, "w", encoding="utf-8", closefd=False) as wire:
                await _serve(server, cast("AsyncFile[str]", _LineReader(incoming)), wrap_file(wire))
        except* BrokenPipeError:
            pass  # the client is gone, as if stdin had ended


async def _serve(server: Server[Any], lines: AsyncFile[str], wire: AsyncFile[str]) -> None:
    async with stdio_server(stdin=lines, stdout=wire) as (read, write):
        await server.run(read, write, server.create_initialization_options())


@contextmanager
def _redirect_descriptor(descriptor: int, instead: int) -> Iterator[int]:
    """Another descriptor for what this one led to; `instead` takes its place."""
    wire = os.dup(descriptor)
    os.dup2(instead, descriptor)
    os.close(instead)
    try:
        yield wire
    finally:
        os.dup2(wire, descriptor)
        os.close(wire)


class _LineReader:
    """The lines of a descriptor, which is all that the SDK asks of a file.

    Read in the event loop: a thread, as the SDK has it, could not be stopped before the next line.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        rest = b""
        while chunk := await self._chunk():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
        if rest:
            yield rest.decode(errors="replace")

    async def _chunk(self) -> bytes:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        try:
            loop.add_reader(self._descriptor, ready.set)
        except PermissionError:  # a plain file: there is never anything to wait for
            return os.read(self._descriptor, _CHUNK)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._descriptor)
        return os.read(self._descriptor, _CHUNK)
