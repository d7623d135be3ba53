"""One project's schema on a PostgreSQL: how a connection to it is made, and what its errors mean."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from folkmoot.domain.settings import Storage
from folkmoot.errors import FolkmootError, OperationFailed, WrongUse
from folkmoot.journal.postgres.migrations import check_version, prepare

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
