"""What the ledger says to the database, how rows become the arrays in which PostgreSQL takes them at once, and how
workers are woken: by a job of Procrastinate, committed together with what they are woken for.

A job says no more than which run to go on with; at most one waits per run. The tables of the jobs can be lost without
harm: where there are none nobody is woken, and the workers make them anew and find by themselves what is to be done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from psycopg import errors

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


QUEUE = "runs"
"""The jobs of runs that can go on anywhere."""


def queue_at(label: str) -> str:
    """The jobs of runs that can go on only there. PostgreSQL's names are short, so labels are."""
    return f"at:{label}"


async def wake(connection: Connection, runs: Mapping[str, float]) -> None:
    """In a transaction that holds the lock of the head. `runs` go on after so many seconds; sooner wins."""
    wanted = [[*runs], [*runs.values()]]
    with suppress(errors.UndefinedTable, errors.UndefinedFunction, errors.UndefinedObject):
        async with connection.transaction():  # a savepoint
            await connection.execute(_SOONER, wanted)
            await connection.execute(_WAKE, wanted)


_SOONER = """
DELETE FROM procrastinate_jobs USING unnest(%s::text[], %s::float8[]) AS wanted (run, later)
WHERE queueing_lock = run AND status = 'todo' AND scheduled_at > now() + make_interval(secs => later)"""
_WAKE = f"""
SELECT procrastinate_defer_jobs_v1(array_agg(ROW(
  coalesce(
    (SELECT '{queue_at("")}' || (convert_from(text, 'UTF8')::jsonb #>> '{{data,label}}') FROM entry
      WHERE stream = convert_to(run, 'UTF8') AND type = 'run.bound' ORDER BY run_seq LIMIT 1),
    '{QUEUE}'),
  'activate', 0, NULL, run, jsonb_build_object('run', run),
  CASE WHEN later > 0 THEN now() + make_interval(secs => later) END
)::procrastinate_job_to_defer_v1))
FROM unnest(%s::text[], %s::float8[]) AS wanted (run, later)
WHERE NOT EXISTS (SELECT FROM procrastinate_jobs WHERE queueing_lock = run AND status = 'todo')
HAVING count(*) > 0"""
