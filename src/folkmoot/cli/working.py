"""What `folkmoot work` reads and does: on the journal of a project, whatever state its files are in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from folkmoot.cli.records import has_run, opened
from folkmoot.coordination.author import Author
from folkmoot.coordination.keeping import Decide
from folkmoot.coordination.work_sessions.desk import WorkSessions
from folkmoot.coordination.work_sessions.forming import Seat
from folkmoot.domain.agent import Graph
from folkmoot.domain.work_session import ArtifactKind, WorkSession
from folkmoot.domain.work_session_events import WorkSessionOpened
from folkmoot.domain.work_session_fold import WORK_SESSION
from folkmoot.engine.clock import SystemClock
from folkmoot.engine.control import Control
from folkmoot.engine.identity import chance
from folkmoot.engine.local import LocalEngine
from folkmoot.engine.workshop import open_journal
from folkmoot.errors import WrongUse
from folkmoot.journal.index import Index
from folkmoot.operations.actor import account_name
from folkmoot.ports import Filter, Journal, Query
from folkmoot.views.work_sessions import WorkList, WorkRow
from folkmoot.views.work_timeline import TimelineEntry, timeline_entry, work_document, work_timeline

_BEAT = 0.1
"""Seconds between two looks of a live list."""


def me() -> Author:
    return Author(account_name())


async def all_rows(folder: Path) -> list[WorkRow]:
    """The latest first; none if nothing ever happened."""
    if not has_run(folder):
        return []
    async with opened(folder) as journal:
        return await read_rows(journal)


async def read_rows(journal: Journal) -> list[WorkRow]:
    rows = WorkList()
    async for entry in journal.read(Query()):
        rows.take(entry)
    return rows.rows(SystemClock().now())


def chosen(rows: Sequence[WorkRow], name: str) -> WorkRow:
    """`rows` as they are listed, the newest first."""
    known = {row.id: row for row in reversed(rows)}
    return known[WORK_SESSION.resolve(known, name)]


async def open_one(folder: Path, opening: WorkSessionOpened) -> WorkSession:
    """The first thing that ever happens in a project may be this."""
    journal = open_journal(folder)
    try:
        if opening.previous:
            previous = chosen(await read_rows(journal), opening.previous).id
            opening = msgspec.structs.replace(opening, previous=previous)
        return await WorkSessions(journal, SystemClock(), Graph({})).open(opening, me(), chance=chance())
    finally:
        await journal.close()


@asynccontextmanager
async def at_desk(folder: Path, name: str, graph: Graph = Graph({})) -> AsyncIterator[tuple[Control, str]]:
    """The desk, and the id of the work session that is meant."""
    async with opened(folder, readonly=False) as journal:
        clock = SystemClock()
        desk = WorkSessions(journal, clock, graph)
        yield Control(desk, LocalEngine(journal, clock)), chosen(await read_rows(journal), name).id


async def change(folder: Path, name: str, decided: Decide[WorkSession]) -> WorkSession:
    async with at_desk(folder, name) as (control, id):
        return await control.desk.change(id, decided, me())


async def form(folder: Path, name: str, graph: Graph, wanted: Sequence[Seat], team: str) -> WorkSession:
    async with at_desk(folder, name, graph) as (control, id):
        return await control.desk.form(id, wanted, me(), team)


async def add(folder: Path, name: str, kind: ArtifactKind, title: str, content: bytes) -> WorkSession:
    async with at_desk(folder, name) as (control, id):
        return await control.desk.add_artifact(id, kind, title, content, me())


async def content(folder: Path, name: str, artifact: str) -> bytes:
    """Of an artifact of a work session, by its hash, the beginning of that, or its title."""
    async with opened(folder) as journal:
        row = chosen(await read_rows(journal), name)
        record = await WorkSessions(journal, SystemClock(), Graph({})).find(row.id)
        for each in record.artifacts if record else ():
            if artifact and (each.title == artifact or each.artifact.startswith(artifact)):
                return await journal.artifact(each.artifact)
        raise WrongUse(f"{row.id} has no artifact {artifact!r}; `folkmoot work show {row.id}` lists them")


async def read_timeline(folder: Path, name: str) -> list[TimelineEntry]:
    async with opened(folder) as journal:
        row = chosen(await read_rows(journal), name)
        return await _timeline(folder, journal, row)


async def document(folder: Path, name: str) -> dict[str, Any]:
    """Everything about one work session, as `--json` shows it."""
    async with opened(folder) as journal:
        row = chosen(await read_rows(journal), name)
        record = await WorkSessions(journal, SystemClock(), Graph({})).find(row.id)
        timeline = await _timeline(folder, journal, row)
    return work_document(row, record, timeline)


async def _timeline(folder: Path, journal: Journal, row: WorkRow) -> list[TimelineEntry]:
    index = Index.open(folder)
    try:
        entries = await index.find(journal, Filter(work_session=row.id, limit=row.events))
        return work_timeline(row.id, entries)
    finally:
        index.close()


async def follow_timeline(folder: Path, name: str) -> AsyncIterator[TimelineEntry]:
    """What happened, then what happens, without end."""
    async with opened(folder) as journal:
        id = chosen(await read_rows(journal), name).id
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
                yield rows.rows(SystemClock().now())
                await asyncio.sleep(_BEAT)
            taking.result()
        finally:
            taking.cancel()
