"""One project's schema on a PostgreSQL: how it is brought up to date, how a connection to it is made and kept through a
server that restarts, how others are heard that write to it, and what its errors mean."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from folkmoot.domain.settings import Storage
from folkmoot.errors import FolkmootError, JournalTooNew, OperationFailed, WrongUse
from folkmoot.journal.database import known_migrations

MIGRATIONS = known_migrations(Path(__file__).parent)
LATEST = MIGRATIONS[-1].version


async def prepare(connection: AsyncConnection[Any], schema: str, name: str, *, readonly: bool) -> None:
    """See that the schema is of this release, by migrating it. If it is only read, none is made and an older one is
    refused."""
    version = await check_version(connection, schema, name)
    if version == LATEST or (readonly and not version):
        return
    if readonly:
        raise OperationFailed(
            f"{name} is of an older release; bring it up to date with: folkmoot journal adopt"
        )
    async with connection.transaction():
        # Freed with the end of the transaction, however that comes.
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (schema,))
        version = await check_version(connection, schema, name)
        if not version:
            await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        for migration in MIGRATIONS:
            if migration.version > version:
                await connection.execute(migration.script.encode())


async def check_version(connection: AsyncConnection[Any], schema: str, name: str) -> int:
    """Of the schema; 0 if there is none. Refuses one that is too new."""
    exists = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'release'"
    if not await (await connection.execute(exists, (schema,))).fetchone():
        return 0
    row = await (
        await connection.execute("SELECT version, needs FROM release ORDER BY version DESC LIMIT 1")
    ).fetchone()
    version, needs = row or (0, "")
    if version > LATEST:
        raise JournalTooNew(
            f"{name} has version {version}, this release knows versions up to {LATEST};"
            f" it needs Folkmoot {needs} or newer"
        )
    return int(version)


Connection = AsyncConnection[tuple[object, ...]]

PATIENCE = 30.0
"""Seconds that a server may be away, or a lock be kept by somebody, before it is an error."""

_STALLED = 10
"""Seconds after which the server ends a transaction whose process has stopped in the midst of it: all others wait."""
_USUAL: dict[str, Any] = {
    "application_name": "folkmoot",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": int(PATIENCE * 1000),
}
"""A host that vanished is noticed. The address may say otherwise."""


class Server:
    def __init__(self, storage: Storage, *, readonly: bool = False) -> None:
        self.name = f"{storage.shown}, project {storage.project!r}"
        """For people: without the password."""
        self.schema = storage.schema
        """Also the channel on which its followers hear of new entries."""
        self.queue = f"folkmoot-queue_{storage.project}"
        """The schema of what wakes workers, which is made by the first of them; no project's own can be called so."""
        self.reached = False
        """Whether there ever was a connection: who never reached it is told so at once."""
        self._readonly = readonly
        try:
            given = conninfo_to_dict(storage.url or "")
        except psycopg.ProgrammingError:  # its text may hold the password
            raise WrongUse(f"`storage.url` is no address of a PostgreSQL: {storage.shown}") from None
        self._conninfo = make_conninfo("", **{**_USUAL, **given})

    async def connect(self) -> Connection:
        """One attempt. The schema is brought up to date unless it is only read; raises what `psycopg` raises."""
        connecting = asyncio.ensure_future(AsyncConnection.connect(self._conninfo, autocommit=True))
        try:
            await asyncio.wait([connecting])
        except asyncio.CancelledError:
            # Cancelled itself, it would leave a connection behind that nobody knows and the server keeps.
            await asyncio.wait([connecting])
            if not connecting.exception():
                await connecting.result().close()
            raise
        connection = connecting.result()
        try:
            await connection.execute(
                sql.SQL(
                    "SET search_path TO {schema}, {queue}; SET client_encoding TO 'UTF8';"
                    " SET lock_timeout TO {patience}; SET idle_in_transaction_session_timeout TO {stalled};"
                ).format(
                    schema=sql.Identifier(self.schema),
                    queue=sql.Identifier(self.queue),
                    patience=int(PATIENCE * 1000),
                    stalled=_STALLED * 1000,
                )
            )
            # What is acknowledged must survive; a stronger setting of the server (remote_apply) stays.
            await connection.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
            await prepare(connection, self.schema, self.name, readonly=self._readonly)
        except BaseException:
            await connection.close()
            raise
        self.reached = True
        return connection

    async def check_version(self, connection: Connection) -> int:
        """Another process may have brought the schema to a newer release meanwhile."""
        return await check_version(connection, self.schema, self.name)

    def explain(self, error: Exception) -> FolkmootError:
        """What an error means for the journal."""
        if isinstance(error, FolkmootError):
            return error
        text = words_of(error)
        if isinstance(error, psycopg.errors.LockNotAvailable):
            text = f"another session kept the journal locked for {PATIENCE:.0f} s; try again"
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            text += "; the user needs the right to create a schema in this database, or to use the project's"
        return OperationFailed(f"{self.name}: {text}")


def words_of(error: Exception) -> str:
    """On one line, without the statements that the server tells of."""
    said = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return said or " ".join(str(error).split())


def is_passing(error: Exception) -> bool:
    """Whether the same may succeed a moment later, over another connection."""
    if isinstance(error, OSError):
        return True
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:  # no word from the server: the connection is gone or was never made
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate[:2] in _PASSING or error.sqlstate in _PASSING


_PASSING = frozenset(
    (
        "08",  # the connection
        "40",  # a deadlock or the like
        "53",  # too many connections, a full disk
        "57P01",  # the server is shutting down,
        "57P02",  # crashed
        "57P03",  # or is starting
        "25006",  # a standby, until it takes over
        "25P03",  # this process was stopped in the midst of a transaction
    )
)


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
            async with asyncio.timeout(PATIENCE):
                return await self._insist(work)
        except TimeoutError:
            await self._drop()
            raise OperationFailed(
                f"{self._server.name}: no answer for {PATIENCE:.0f} s; what waited for it was given up"
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
                self._trouble = words_of(error)
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
