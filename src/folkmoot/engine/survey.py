"""How a shared installation stands: its server, its schemas, its workers, and the runs that nobody goes on with."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from folkmoot.domain.settings import Storage
from folkmoot.domain.value import Value
from folkmoot.engine.procrastinate import Queue, select, version_of
from folkmoot.journal.postgres.line import Line
from folkmoot.journal.postgres.server import Server
from folkmoot.ports import Clock

ALIVE = 30.0
"""Seconds since a worker last said something."""


class Survey(Value):
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


async def survey(storage: Storage, clock: Clock) -> Survey:
    """Raises `OperationFailed` if the server cannot be reached."""
    server, queue = Server(storage, readonly=True), Queue(storage, "", readonly=True)
    line = Line(server)
    try:
        before = _unix(clock)
        (row,) = await line.use(partial(select, _SERVER, []))
        known = {
            "server": row["version"],
            "off": tuple(row["off"] or ()),
            "ahead": (before + _unix(clock)) / 2 - row["moment"],
            "journal": await line.use(server.check_version),
            "queue": await line.use(partial(version_of, server)),
        }
        if not known["queue"] or not known["journal"]:
            return Survey(**known)
        (row,) = await line.use(partial(select, _WORKERS, [ALIVE]))
        return Survey(**known, **row, forsaken=tuple(await queue.forsaken()))
    finally:
        await queue.close()
        await line.close()


def _unix(clock: Clock) -> float:
    return datetime.fromisoformat(clock.now()).timestamp()


_SERVER = """
SELECT current_setting('server_version') AS version, extract(epoch FROM clock_timestamp())::float8 AS moment,
  (SELECT array_agg(name) FROM pg_settings
    WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off') AS off"""
_WORKERS = """
SELECT (SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - make_interval(secs => %s)) AS workers,
  (SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo') AS queued"""
