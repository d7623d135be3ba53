"""Brings a project's schema up to date. Of several processes that try at once, one does it and the others wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from psycopg import AsyncConnection, sql

from folkmoot.errors import JournalTooNew, OperationFailed
from folkmoot.journal.migrations import known_migrations

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
