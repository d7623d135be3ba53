"""Work sessions: the collaborations around one goal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from folkmoot.domain.category import LABELS, CategoryId
from folkmoot.domain.entry import Role
from folkmoot.domain.work_session import Activity
from folkmoot.http.endpoint import Asked, Document, Endpoint
from folkmoot.http.requests import Page, Part, Words, part
from folkmoot.operations.work_sessions import find_row
from folkmoot.ports import Filter
from folkmoot.views.timeline import TimelineEntry, work_timeline
from folkmoot.views.work_sessions import WorkRow, work_document

OF_FIRST = {"id": "$response.body#/0/id"}


class WorkQuery(Page):
    status: Activity | None = None
    """Those that are so."""
    role: Role | None = None
    """Those with events of this role."""
    type: str = ""
    """Those with events of this type, or `task.*`."""
    category: CategoryId | None = None
    """Those that are about this."""
    view_category: CategoryId | None = None
    """The same under its older name."""
    sub_tag: str = ""
    """Those with this finer mark."""


class WorkSearch(WorkQuery, kw_only=True):
    q: Words
    """What stands in the title, the goal or the names of its agents; case does not matter."""


class CategoryDocument(msgspec.Struct):
    id: CategoryId
    label: str


class ArtifactRow(msgspec.Struct, rename="camel"):
    id: Annotated[str, Meta(description="The hash of its content.")]
    status: str
    kind: str
    title: str
    by: str


async def list_work_sessions(asked: Asked) -> Part:
    """Where something happened last comes first."""
    return part(await _fitting(asked), asked.query, lambda row: row.id)


async def search_work_sessions(asked: Asked) -> Part:
    wanted = asked.query.q.lower()
    known = await asked.desks.work_sessions.all()
    found = (
        row
        for row in await _fitting(asked)
        if wanted in f"{row.title}\n{known[row.id].goal if row.id in known else ''}\n{row.agents}".lower()
    )
    return part(found, asked.query, lambda row: row.id)


async def show_work_session(asked: Asked) -> dict[str, Any]:
    """Goal, constraints, team, state, snapshots, artifacts, decisions and the whole timeline."""
    row = await row_of(asked)
    record = await asked.desks.work_sessions.look_up(row.id)
    return work_document(row, record, await _timeline(asked, row))


async def work_timeline_of(asked: Asked) -> list[TimelineEntry]:
    return await _timeline(asked, await row_of(asked))


async def list_artifacts(asked: Asked) -> list[ArtifactRow]:
    row = await row_of(asked)
    record = await asked.desks.work_sessions.look_up(row.id)
    return [
        ArtifactRow(each.artifact, "kept", each.kind, each.title, each.by)
        for each in (record.artifacts if record else ())
    ]


async def list_categories(asked: Asked) -> list[CategoryDocument]:
    return [CategoryDocument(id, label) for id, label in LABELS.items()]


async def row_of(asked: Asked) -> WorkRow:
    return await find_row(asked.house.project, asked.id)


async def _fitting(asked: Asked) -> Iterator[WorkRow]:
    query: WorkQuery = asked.query
    having = None
    if query.type:
        entries = await asked.moot.find(Filter(types=(query.type,), limit=100_000))
        having = {entry.draft.work_session_id for entry in entries}
    return (
        row
        for row in await asked.house.folds.work_rows()
        if query.status in (None, row.status)
        and (query.role is None or query.role in row.roles)
        and {query.category, query.view_category} <= {None, row.category}
        and (not query.sub_tag or query.sub_tag in row.sub_tags)
        and (having is None or row.id in having)
    )


async def _timeline(asked: Asked, row: WorkRow) -> list[TimelineEntry]:
    entries = await asked.moot.find(Filter(work_session=row.id, limit=row.events))
    return work_timeline(row.id, entries)


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/work-sessions",
        summary="Work sessions, where something happened last first",
        handle=list_work_sessions,
        query=WorkQuery,
        answer=list[WorkRow],
        links={name: OF_FIRST for name in ("showWorkSession", "workTimeline", "categoriseWorkSession")},
    ),
    Endpoint(
        method="GET",
        path="/work-sessions/search",
        summary="Work sessions in which a text stands",
        handle=search_work_sessions,
        query=WorkSearch,
        answer=list[WorkRow],
    ),
    Endpoint(
        method="GET",
        path="/work-sessions/{id}",
        summary="One work session, with its timeline and snapshots",
        handle=show_work_session,
        answer=Document,
    ),
    Endpoint(
        method="GET",
        path="/work-sessions/{id}/timeline",
        summary="What happened in a work session, in order of time",
        handle=work_timeline_of,
        name="workTimeline",
        answer=list[TimelineEntry],
    ),
    Endpoint(
        method="GET",
        path="/work-sessions/{id}/artifacts",
        summary="What came of the work: changes, documents, logs, results of tests",
        handle=list_artifacts,
        answer=list[ArtifactRow],
        links={"showArtifact": OF_FIRST},
    ),
    Endpoint(
        method="GET",
        path="/categories",
        summary="What work can be about",
        handle=list_categories,
        answer=list[CategoryDocument],
    ),
)
