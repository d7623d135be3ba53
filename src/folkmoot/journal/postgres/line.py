"""A connection that is made anew when it is lost: whoever uses it notices nothing but the time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import psycopg

from folkmoot.errors import FolkmootError, OperationFailed
from folkmoot.journal.postgres import server as servers
from folkmoot.journal.postgres.server import Connection, Server, is_passing

T = TypeVar("T")

_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds between attempts; the last stands for all that follow."""


class Line:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._users: set[asyncio.Future[None]] = set()
        self._over = False
        self._trouble = ""
        """What went wrong last."""

    async def use(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """The outcome of `work`, which may be begun several times, each time on another connection.

        Raises OperationFailed after `PATIENCE` seconds without a success, at once if the server was never reached.
        """
        if self._over:
            raise OperationFailed("the journal is closed", code="journal_unusable")
        user = asyncio.get_running_loop().create_future()
        self._users.add(user)
        try:
            async with asyncio.timeout(servers.PATIENCE):
                return await self._insist(work)
        except TimeoutError:
            await self._drop()
            raise OperationFailed(
                f"{self._server.name}: no answer for {servers.PATIENCE:.0f} s; what waited for it was given up"
                f" ({self._trouble or 'it is connected, but silent'})"
            ) from None
        finally:
            self._users.discard(user)
            user.set_result(None)

    async def close(self) -> None:
        """When all who use it are done with it."""
        self._over = True
        while self._users:
            await asyncio.wait(self._users)
        await self._drop()

    async def _insist(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        for pause in itertools.chain(_PAUSES, itertools.repeat(_PAUSES[-1])):
            try:
                return await work(await self._connected())
            except FolkmootError:
                await self._drop()  # and with it whatever lock it holds
                raise
            except (psycopg.Error, OSError) as error:
                await self._drop()
                if not is_passing(error) or not self._server.reached:
                    raise self._server.explain(error) from error
                self._trouble = servers.words_of(error)
            await asyncio.sleep(pause)
        raise AssertionError("there is always another attempt")

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            with suppress(psycopg.Error, OSError):
                await connection.close()

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._connection is None or self._connection.closed:
                self._connection = await self._server.connect()
            return self._connection
