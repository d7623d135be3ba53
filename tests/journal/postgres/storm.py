"""PostgreSQL killed again and again while many runs write: what was promised, and what stands there afterwards."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from folkmoot.domain.entry import Entry
from folkmoot.domain.settings import Storage
from folkmoot.journal.postgres.journal import PostgresJournal
from folkmoot.ports import Epoch, NewRun
from tests.journal.contract import ENDED, draft, read, said
from tests.postgres_server import PostgresServer

RUNS = 8


@dataclass
class Storm:
    acknowledged: list[Entry] = field(default_factory=list)
    followed: list[Entry] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    """All that stands in the journal at the end."""
    kills: int = 0


async def storm(server: PostgresServer, storage: Storage, kills: int) -> Storm:
    """Runs write and a follower reads without end; the server dies in the midst of it, `kills` times."""
    seen, journal = Storm(), PostgresJournal(storage)
    over = asyncio.Event()

    async def write(run: str) -> None:
        seen.acknowledged += await journal.append(run, NewRun("me", 600.0), [draft()])
        step = 0
        while not over.is_set():
            step += 1
            batch = [said(f"{run} {step}"), said(f"{run} {step} again")]
            seen.acknowledged += await journal.append(run, Epoch(1), batch)

    async def follow() -> None:
        async for entry in journal.follow():
            seen.followed.append(entry)
            if entry.event == ENDED:
                return

    async def kill() -> None:
        while seen.kills < kills:
            enough = len(seen.acknowledged) + 200
            while len(seen.acknowledged) < enough:
                await asyncio.sleep(0.001)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
            seen.kills += 1
        over.set()

    following = asyncio.ensure_future(follow())
    try:
        await asyncio.gather(kill(), *(write(f"run-{n}") for n in range(RUNS)))
        seen.acknowledged += await journal.append("last", NewRun("me", 600.0), [draft(ENDED)])
        await following
        seen.entries = await read(journal)
    finally:
        await journal.close()
    return seen
