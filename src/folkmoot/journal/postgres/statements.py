"""What the ledger says to the database, and how rows become the arrays in which PostgreSQL takes them at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from folkmoot.journal.postgres.server import Connection

ADD = """
SELECT * FROM add(%s, %b::bytea[], %b::bytea[], %s::bigint[], %s::bigint[],
  %b::bytea[], %s::bigint[], %s::text[], %b::bytea[], %b::bytea[], %b::bytea[])"""
FIND = """
SELECT name, owner, epoch, lease, renewal, renewed, run_seq, id FROM stream LEFT JOIN LATERAL
  (SELECT run_seq, id FROM entry WHERE stream = name ORDER BY run_seq DESC LIMIT 1) AS last ON true
WHERE name = ANY(%s)"""
MOVE = """
INSERT INTO stream (name, owner, epoch, lease, renewal, renewed)
SELECT * FROM unnest(%b::bytea[], %s::text[], %s::bigint[], %s::float8[], %s::bigint[], %s::float8[])
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch,
  lease = excluded.lease, renewal = excluded.renewal, renewed = excluded.renewed"""
SEEMS_HELD = "abs(moment() - renewed) < lease"
"""For people to see; who takes a run over watches it."""
POST = """
INSERT INTO post (run, kind, body, token) SELECT * FROM unnest(%b::bytea[], %s::text[], %b::bytea[], %b::bytea[])"""
TAKE = "UPDATE post SET taken = true WHERE id = ANY(%s)"


async def select(connection: Connection, query: str, *values: object) -> Any:
    cursor = await connection.cursor(binary=True).execute(query.encode(), values)
    return await cursor.fetchall()


def columns(rows: Iterable[Sequence[object]], width: int) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]
