"""Operations that look at work sessions."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from folkmoot.domain.category import LABELS, CategoryId
from folkmoot.domain.entry import Role
from folkmoot.domain.work_session import Activity
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import Http, Operation, OperationType, Spelling, Text
from folkmoot.operations.project import OpenProject
from folkmoot.ports import Filter
from folkmoot.views.timeline import TimelineEntry, work_timeline
from folkmoot.views.work_sessions import WorkRow, work_document

WorkName = Annotated[
    str,
    Spelling(terminal="WS", http=False, help="A work session's id, the beginning of one, or `last`."),
]
_OF_FIRST = "$response.body#/0/id"
_BY_HTTP = Spelling(terminal=None)
MOST_EVENTS = 100_000
"""Of a type, whose work sessions are listed."""


class ListWorkSessions(Operation[list[WorkRow]]):
    """List all work sessions, where something happened last first; also those of plain runs."""

    command = "list"
    examples = (
        "folkmoot work list",
        "folkmoot work list --status ACTIVE --category infra_ops",
        "folkmoot work list --live",
    )
    http: ClassVar[Http | None] = Http(
        method="GET",
        path="/work-sessions",
        links=dict.fromkeys(("showWorkSession", "workTimeline", "categoriseWorkSession"), _OF_FIRST),
    )
    reads = True
    status: Annotated[Activity | None, _BY_HTTP] = None
    """Only those that are ACTIVE, QUIET or ARCHIVED."""
    category: Annotated[CategoryId | None, Spelling(metavar="ID")] = None
    """Only of this category."""
    role: Annotated[Role | None, Spelling(metavar="ROLE")] = None
    """Only with events of this role."""
    type: Annotated[str, _BY_HTTP] = ""
    """Only with events of this type, or `task.*`."""
    view_category: Annotated[CategoryId | None, _BY_HTTP] = None
    """`category` under its older name."""
    sub_tag: Annotated[str, _BY_HTTP] = ""
    """Only with this finer mark."""

    def includes(self, row: WorkRow) -> bool:
        return (
            self.status in (None, row.status)
            and (self.role is None or self.role in row.roles)
            and {self.category, self.view_category} <= {None, row.category}
            and (not self.sub_tag or self.sub_tag in row.sub_tags)
        )

    async def run(self, project: OpenProject, actor: Actor) -> list[WorkRow]:
        rows = filter(self.includes, await project.host.work_rows())
        if not self.type:
            return [*rows]
        entries = await project.host.find(Filter(types=(self.type,), limit=MOST_EVENTS))
        having = {entry.draft.work_session_id for entry in entries}
        return [row for row in rows if row.id in having]


class SearchWorkSessions(ListWorkSessions, kw_only=True):
    """Work sessions in which a text stands."""

    command = ""
    http = Http(method="GET", path="/work-sessions/search")
    q: Text
    """What stands in the title, the goal or the names of its agents; case does not matter."""

    async def run(self, project: OpenProject, actor: Actor) -> list[WorkRow]:
        known = await project.work_sessions.all()

        def text(row: WorkRow) -> str:
            return f"{row.title}\n{known[row.id].goal if row.id in known else ''}\n{row.agents}".lower()

        return [row for row in await super().run(project, actor) if self.q.lower() in text(row)]


class ShowWorkSession(Operation[dict[str, Any]]):
    """Show one work session: goal, state, team, artifacts, snapshots and timeline."""

    command = "show"
    examples = ("folkmoot work show last", "folkmoot work show ws_1f0a2b3c --json")
    http = Http(method="GET", path="/work-sessions/{id}")
    subject = "work"
    reads = True
    work: WorkName

    async def run(self, project: OpenProject, actor: Actor) -> dict[str, Any]:
        row = await project.host.find_work(self.work)
        return work_document(row, await project.work_sessions.look_up(row.id), await _timeline(project, row))

    def document(self, output: dict[str, Any]) -> dict[str, Any]:
        return output


class ShowTimeline(Operation[list[TimelineEntry]]):
    """Tell what happened in a work session, in order of time, one line each."""

    command = "timeline"
    examples = ("folkmoot work timeline last", "folkmoot work timeline last --live")
    http = Http(method="GET", path="/work-sessions/{id}/timeline", name="workTimeline", pages="")
    subject = "work"
    reads = True
    work: WorkName

    async def run(self, project: OpenProject, actor: Actor) -> list[TimelineEntry]:
        return await _timeline(project, await project.host.find_work(self.work))


class ArtifactRow(msgspec.Struct, rename="camel"):
    id: Annotated[str, Meta(description="The hash of its content.")]
    status: str
    kind: str
    title: str
    by: str


class ListArtifacts(Operation[list[ArtifactRow]]):
    """What came of the work: changes, documents, logs, results of tests."""

    http = Http(
        method="GET", path="/work-sessions/{id}/artifacts", pages="", links={"showArtifact": _OF_FIRST}
    )
    subject = "work"
    reads = True
    work: WorkName

    async def run(self, project: OpenProject, actor: Actor) -> list[ArtifactRow]:
        record = await project.work_sessions.look_up((await project.host.find_work(self.work)).id)
        kept = record.artifacts if record else ()
        return [ArtifactRow(each.artifact, "kept", each.kind, each.title, each.by) for each in kept]


class CategoryDocument(msgspec.Struct):
    id: CategoryId
    label: str


class ListCategories(Operation[list[CategoryDocument]]):
    """What work can be about."""

    http = Http(method="GET", path="/categories", pages="")
    reads = True

    async def run(self, project: OpenProject, actor: Actor) -> list[CategoryDocument]:
        return [CategoryDocument(id, label) for id, label in LABELS.items()]


async def _timeline(project: OpenProject, row: WorkRow) -> list[TimelineEntry]:
    return work_timeline(
        row.id, await project.host.find(Filter(work_session=row.id, limit=max(row.events, 1)))
    )


READING: tuple[OperationType, ...] = (
    ListWorkSessions,
    SearchWorkSessions,
    ShowWorkSession,
    ShowTimeline,
    ListArtifacts,
    ListCategories,
)
