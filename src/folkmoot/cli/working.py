"""What `folkmoot work` reads and does: on the journal of a project, whatever state its files are in."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

from folkmoot.cli.records import has_run, opened
from folkmoot.coordination.work_sessions import WorkSessions
from folkmoot.domain.agent import Graph
from folkmoot.domain.entry import Entry
from folkmoot.domain.naming import LAST
from folkmoot.domain.records import WORK_SESSION
from folkmoot.engine.clock import SystemClock
from folkmoot.errors import WrongUse
from folkmoot.journal.index import Index
from folkmoot.ports import Filter, Journal, Query
from folkmoot.views.timeline import TimelineEntry, timeline_entry, work_timeline
from folkmoot.views.work_sessions import WorkList, WorkRow, work_document

_BEAT = 0.1
"""Seconds between two looks of a live list."""


async def all_rows(folder: Path) -> list[WorkRow]:
    """The latest first; none if nothing ever happened."""
    if not has_run(folder):
        return []
    async with opened(folder) as journal:
        return await read_rows(journal)


async def read_rows(journal: Journal) -> list[WorkRow]:
    rows = WorkList([entry async for entry in journal.read(Query())])
    return [*rows.rows(SystemClock().now())]


async def find_id(folder: Path, name: str) -> str:
    """The id of a work session that is named by it, by its beginning, or as `last`."""
    if not has_run(folder):
        raise WORK_SESSION.missing(name)
    async with opened(folder) as journal:
        return await _found_id(folder, journal, name)


async def _found_id(folder: Path, journal: Journal, name: str) -> str:
    with closing(Index.open(folder)) as index:
        beginning = "" if name == LAST else name.removeprefix(WORK_SESSION.prefix)
        return WORK_SESSION.resolve(await index.work_sessions(journal, beginning), name)


async def _found(folder: Path, journal: Journal, name: str) -> tuple[WorkRow, list[Entry]]:
    """A work session, and all that happened in it."""
    id = await _found_id(folder, journal, name)
    with closing(Index.open(folder)) as index:
        entries = await index.find(journal, Filter(work_session=id, limit=sys.maxsize, oldest_first=True))
    (row,) = WorkList(entries).rows(SystemClock().now())
    return row, entries


async def content(folder: Path, name: str, artifact: str) -> bytes:
    """Of an artifact of a work session, by its hash, the beginning of that, or its title."""
    async with opened(folder) as journal:
        id = await _found_id(folder, journal, name)
        record = await WorkSessions(journal, SystemClock(), Graph({})).look_up(id)
        for each in record.artifacts if record else ():
            if artifact and (each.title == artifact or each.artifact.startswith(artifact)):
                return await journal.artifact(each.artifact)
        raise WrongUse(f"{id} has no artifact {artifact!r}; `folkmoot work show {id}` lists them")


async def read_timeline(folder: Path, name: str) -> list[TimelineEntry]:
    async with opened(folder) as journal:
        row, entries = await _found(folder, journal, name)
        return work_timeline(row.id, entries)


async def document(folder: Path, name: str) -> dict[str, Any]:
    """Everything about one work session, as `--json` shows it."""
    async with opened(folder) as journal:
        row, entries = await _found(folder, journal, name)
        record = await WorkSessions(journal, SystemClock(), Graph({})).look_up(row.id)
    return work_document(row, record, work_timeline(row.id, entries))


async def follow_timeline(folder: Path, name: str) -> AsyncIterator[TimelineEntry]:
    """What happened, then what happens, without end."""
    async with opened(folder) as journal:
        id = await _found_id(folder, journal, name)
        async for entry in journal.follow():
            if entry.draft.work_session_id == id and (line := timeline_entry(entry)):
                yield line


async def follow_rows(folder: Path) -> AsyncIterator[list[WorkRow]]:
    """The list as it is, then again soon after something has happened, without end."""
    async with opened(folder) as journal:
        rows, news = WorkList(), asyncio.Event()
        newest = [entry.seq async for entry in journal.read(Query(newest_first=True, limit=1))]

        async def take() -> None:
            async for entry in journal.follow():
                rows.take(entry)
                if not newest or entry.seq >= newest[0]:
                    news.set()

        taking = asyncio.create_task(take())
        taking.add_done_callback(lambda _: news.set())
        try:
            while not taking.done():
                await news.wait()
                news.clear()
                yield [*rows.rows(SystemClock().now())]
                await asyncio.sleep(_BEAT)
            taking.result()
        finally:
            taking.cancel()
