"""What wakes workers: jobs of Procrastinate on the PostgreSQL of the journal, and the search for forsaken runs.

All of it is disposable. The tables lie in a schema of their own and are made anew where they are missing; which runs
need a worker follows from the journal alone. Procrastinate's own worker is not used: it ends when its connection does,
and takes jobs that it has no room for.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from procrastinate.connector import BaseAsyncConnector
from procrastinate.jobs import Status
from procrastinate.manager import JobManager
from procrastinate.schema import SchemaManager
from psycopg import sql
from psycopg.errors import ForeignKeyViolation
from psycopg.rows import dict_row

from folkmoot.domain.events import RUN_ENDS, RunParked, RunStarted
from folkmoot.domain.fence import Sign, Watch
from folkmoot.domain.settings import Storage
from folkmoot.domain.value import Value
from folkmoot.engine.claims import is_owner_gone
from folkmoot.errors import OperationFailed
from folkmoot.journal.front import News
from folkmoot.journal.postgres.server import Connection, Line, Listener, Server
from folkmoot.journal.postgres.statements import QUEUE, SEEMS_HELD, queue_at
from folkmoot.ports import Clock

VERSION = max(file.stem for file in Path(SchemaManager.get_migrations_path()).glob("*.sql"))
"""Of the tables that the installed Procrastinate knows."""


class JobQueue:
    """The jobs of one project, as one worker sees them."""

    def __init__(
        self, storage: Storage, label: str, watch: Watch | None = None, *, readonly: bool = False
    ) -> None:
        """Without a `watch`, the server's clock tells whether a run seems to have an owner: enough to show it."""
        self._server = Server(storage, readonly=readonly)
        self._watch = watch
        self._line = Line(self._server)
        self._jobs = JobManager(_Connector(self._line))
        self._queues = [QUEUE, queue_at(label)]
        self.news = News()
        """Told when there may be a job."""
        channels = [f"procrastinate_queue_v1#{queue}" for queue in self._queues]
        self._listener = Listener(self._server, self.news.tell, channels)
        self._worker: int | None = None
        self._floor = 0
        """Every run that began up to this entry has ended."""

    async def prepare(self, *, anew: bool = False) -> None:
        """See that the tables are there, and listen. `anew`: with no job in them."""
        await self._line.use(partial(_prepare_tables, self._server, anew))
        self._listener.start()

    async def take(self) -> str:
        """The run of the next job, which is done with that: from here on its lease tells. Empty if there is none."""
        try:
            if self._worker is None:
                self._worker = await self._jobs.register_worker()
            job = await self._jobs.fetch_job(self._queues, self._worker)
            if job is None:
                return ""
            await self._jobs.finish_job(job, Status.SUCCEEDED, delete_job=True)
        except OperationFailed as error:
            self._worker = None
            if isinstance(error.__cause__, ForeignKeyViolation):
                return ""  # it was away, taken for dead, and its row is gone: it registers anew
            raise
        return str(job.task_kwargs["run"])

    async def beat(self, patience: float) -> None:
        """Say that this worker lives; clear away what is left of those that said nothing for so many seconds."""
        if self._worker is not None:
            await self._jobs.update_heartbeat(self._worker)
        for job in await self._jobs.get_stalled_jobs(seconds_since_heartbeat=patience):
            await self._jobs.finish_job(job, Status.FAILED, delete_job=True)
        await self._jobs.prune_stalled_workers(patience)

    async def forsaken(self) -> list[str]:
        """The runs that are to go on and that nobody is going on with: not held by a live process, not waiting for a
        person, and without a job."""
        names = [RunStarted.type, [end.type for end in RUN_ENDS], RunParked.type]
        rows = await self._line.use(partial(run_query, _UNFINISHED, [*names, self._floor]))
        self._floor = max(row["floor"] for row in rows)
        return [
            row["run"]
            for row in rows
            if row["run"] and (not self._is_held(row) or is_owner_gone(row["owner"])) and not row["waits"]
        ]

    def _is_held(self, row: dict[str, Any]) -> bool:
        if self._watch is None:
            return bool(row["held"])
        sign = Sign(row["owner"], row["epoch"], row["renewal"], row["lease"])
        return not self._watch.silent(row["run"], sign)

    async def close(self) -> None:
        await self._listener.close()
        with suppress(OperationFailed):  # then the others see by its silence that it is gone
            if self._worker is not None:
                await self._jobs.unregister_worker(self._worker)
        await self._line.close()


class _Connector(BaseAsyncConnector):
    """Procrastinate's statements over a line that survives a server that restarts."""

    def __init__(self, line: Line) -> None:
        self._line = line

    async def execute_query_async(self, query: str, **arguments: Any) -> None:
        await self._line.use(partial(run_query, query, arguments))

    async def execute_query_one_async(self, query: str, **arguments: Any) -> dict[str, Any]:
        rows = await self.execute_query_all_async(query, **arguments)
        return rows[0]

    async def execute_query_all_async(self, query: str, **arguments: Any) -> list[dict[str, Any]]:
        return await self._line.use(partial(run_query, query, arguments))


async def run_query(query: str, values: Any, connection: Connection) -> list[dict[str, Any]]:
    cursor = connection.cursor(row_factory=dict_row)
    await cursor.execute(query.encode(), values)
    return await cursor.fetchall() if cursor.description else []


async def _prepare_tables(server: Server, anew: bool, connection: Connection) -> None:
    if not anew and await read_tables_version(server, connection) == VERSION:
        return
    async with connection.transaction():
        # Freed with the end of the transaction, however that comes.
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (server.queue,))
        version = await read_tables_version(server, connection)
        if version > VERSION:
            raise OperationFailed(
                f"{server.name}: the jobs are kept by a newer Procrastinate ({version}, here it is {VERSION});"
                " install the same on all hosts"
            )
        if anew or version < VERSION:
            making = sql.SQL(_MAKE).format(sql.Identifier(server.queue), sql.Literal(VERSION))
            await connection.execute(making)
            await connection.execute(SchemaManager.get_schema().encode())


async def read_tables_version(server: Server, connection: Connection) -> str:
    """Of the tables; empty if some are missing."""
    (row,) = await run_query(_VERSION, [server.queue], connection)
    return str(row["version"] or "") if row["tables"] == len(_TABLES) else ""


_TABLES = (
    "procrastinate_jobs",
    "procrastinate_events",
    "procrastinate_workers",
    "procrastinate_periodic_defers",
)
_MAKE = """
DROP SCHEMA IF EXISTS {0} CASCADE; CREATE SCHEMA {0}; COMMENT ON SCHEMA {0} IS {1}; SET LOCAL search_path TO {0}"""
_VERSION = f"""
SELECT obj_description(oid, 'pg_namespace') AS version,
  (SELECT count(*) FROM pg_class WHERE relnamespace = space.oid AND relname IN {_TABLES}) AS tables
FROM (SELECT %s AS wanted) AS given LEFT JOIN pg_namespace AS space ON nspname = wanted"""
_UNFINISHED = f"""
WITH unfinished AS (
  SELECT begun.seq, stream.name, owner, epoch, renewal, lease, {SEEMS_HELD} AS held, last.type = parked AS parked
  FROM (SELECT %s::text AS started, %s::text[] AS ends, %s::text AS parked, %s::bigint AS floor) AS given
  JOIN entry AS begun ON begun.seq > floor AND begun.type = started AND begun.type LIKE 'run.%%'
  JOIN stream ON stream.name = begun.stream AND epoch > 0
  CROSS JOIN LATERAL (SELECT type FROM entry WHERE stream = stream.name ORDER BY run_seq DESC LIMIT 1) AS last
  WHERE last.type <> ALL(ends)
)
SELECT NULL AS run, NULL AS owner, NULL AS epoch, NULL AS renewal, NULL AS lease, NULL AS held, NULL AS waits,
  coalesce((SELECT min(seq) - 1 FROM unfinished), (SELECT seq FROM head)) AS floor
UNION ALL
SELECT run, owner, epoch, renewal, lease, held,
  parked AND NOT EXISTS (SELECT FROM post WHERE post.run = name AND NOT taken) AS waits, 0
FROM unfinished CROSS JOIN LATERAL convert_from(name, 'UTF8') AS run
WHERE NOT EXISTS (SELECT FROM procrastinate_jobs WHERE queueing_lock = run AND status = 'todo')"""


ALIVE = 30.0
"""Seconds since a worker last said something."""


class QueueStatus(Value):
    server: str
    """Its version."""
    journal: int
    """Version of the schema; 0 if nothing has run yet."""
    queue: str
    """Version of Procrastinate's tables; empty if no worker has ever been there."""
    off: tuple[str, ...]
    """Settings of durability that are off."""
    ahead: float
    """Seconds by which the clock of this host is ahead of the server's."""
    workers: int = 0
    """That are alive."""
    queued: int = 0
    """Runs with a job."""
    forsaken: tuple[str, ...] = ()
    """Runs that should go on, and have neither an owner nor a job."""


async def read_queue_status(storage: Storage, clock: Clock) -> QueueStatus:
    """Raises `OperationFailed` if the server cannot be reached."""
    server, queue = Server(storage, readonly=True), JobQueue(storage, "", readonly=True)
    line = Line(server)
    try:
        before = _read_unix_time(clock)
        (row,) = await line.use(partial(run_query, _SERVER, []))
        known = {
            "server": row["version"],
            "off": tuple(row["off"] or ()),
            "ahead": (before + _read_unix_time(clock)) / 2 - row["moment"],
            "journal": await line.use(server.check_version),
            "queue": await line.use(partial(read_tables_version, server)),
        }
        if not known["queue"] or not known["journal"]:
            return QueueStatus(**known)
        (row,) = await line.use(partial(run_query, _WORKERS, [ALIVE]))
        return QueueStatus(**known, **row, forsaken=tuple(await queue.forsaken()))
    finally:
        await queue.close()
        await line.close()


def _read_unix_time(clock: Clock) -> float:
    return datetime.fromisoformat(clock.now()).timestamp()


_SERVER = """
SELECT current_setting('server_version') AS version, extract(epoch FROM clock_timestamp())::float8 AS moment,
  (SELECT array_agg(name) FROM pg_settings
    WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off') AS off"""
_WORKERS = """
SELECT (SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - make_interval(secs => %s)) AS workers,
  (SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo') AS queued"""
