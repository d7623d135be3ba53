"""Hears that somebody wrote, from the server itself. Who hears nothing looks now and then all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

import psycopg
from psycopg import sql

from folkmoot.errors import FolkmootError
from folkmoot.journal.postgres.server import Server

_PAUSE = 0.5
"""Seconds until it tries to listen again."""


class Listener:
    def __init__(self, server: Server, tell: Callable[[], None], channels: Sequence[str]) -> None:
        self._server = server
        self._channels = channels
        self._tell = tell
        self._listening: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Or go on, if it listens already."""
        if self._listening is None:
            self._listening = asyncio.get_running_loop().create_task(self._listen())

    async def close(self) -> None:
        if self._listening:
            self._listening.cancel()
            await asyncio.wait([self._listening])

    async def _listen(self) -> None:
        while True:
            with suppress(psycopg.Error, OSError, FolkmootError):
                async with await self._server.connect() as connection:
                    for channel in self._channels:
                        await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                    self._tell()  # of what was written while nobody listened
                    async for _ in connection.notifies():
                        self._tell()
            await asyncio.sleep(_PAUSE)
