"""What `folkmoot doctor` looks at where the journal is shared: the server, its schemas, the workers, their runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from folkmoot.cli.amounts import counted
from folkmoot.cli.finding import Finding
from folkmoot.domain.settings import Storage
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.procrastinate import Survey, survey

_APART = 2.0
"""Seconds that clocks may differ before it is worth a word."""
_SHOWN = 3


def examine_shared(storage: Storage) -> list[Finding]:
    return list(_findings(asyncio.run(survey(storage, SystemClock()))))


def _findings(found: Survey) -> Iterator[Finding]:
    yield Finding("server", "ok", f"PostgreSQL {found.server}")
    queue = f"Procrastinate {found.queue}" if found.queue else "no worker has been there yet"
    yield Finding("schemas", "ok", f"journal {found.journal or 'not made yet'}, {queue}")
    if found.off:
        text = f"{' and '.join(found.off)} of the server is off: a power cut can lose what was acknowledged"
        yield Finding("durability", "warning", text)
    else:
        yield Finding("durability", "ok", "fsync, full_page_writes and synchronous_commit are on")
    yield _clock(found.ahead)
    yield _workers(found)
    if found.forsaken:
        named = ", ".join(found.forsaken[:_SHOWN]) + (" …" if len(found.forsaken) > _SHOWN else "")
        text = (
            f"{counted(len(found.forsaken), 'run')} without an owner or a job: {named}; a worker finds them"
        )
        yield Finding("forsaken runs", "warning", text)


def _clock(ahead: float) -> Finding:
    side = "ahead of" if ahead > 0 else "behind"
    if abs(ahead) < _APART:
        return Finding("clocks", "ok", f"this host is {abs(ahead) * 1000:.0f} ms {side} the server")
    text = (
        f"this host is {abs(ahead):.1f} s {side} the server: leases hold, but times in the journal are wrong"
    )
    return Finding("clocks", "warning", text)


def _workers(found: Survey) -> Finding:
    waiting = f"{counted(found.queued, 'run')} queued"
    if found.workers:
        return Finding("workers", "ok", f"{counted(found.workers, 'worker')} alive, {waiting}")
    if found.queued:
        return Finding("workers", "warning", f"none is alive, {waiting}: start one with `folkmoot worker`")
    return Finding("workers", "ok", "none is alive, and no run waits for one")
