"""Operations on events: everything that is recorded, by who, where, when and what."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from folkmoot.domain.category import CategoryId
from folkmoot.domain.duration import moment
from folkmoot.domain.entry import Entry, Role
from folkmoot.engine.runs import find_run
from folkmoot.journal.codec import to_line
from folkmoot.operations.actor import Actor
from folkmoot.operations.operation import Http, Operation, OperationType, RowPage, Spelling, Text
from folkmoot.operations.project import OpenProject
from folkmoot.operations.runs import EventDocument, RunName, event_document
from folkmoot.ports import Filter, Query

LOOKED_AT = 10_000
"""Entries for one page; if too few of them fit, the page is short and `Link` leads on."""
_ID, _WHEN = Spelling(metavar="ID"), Spelling(metavar="WHEN")


class EventPage(Operation[RowPage[Entry]]):
    reads = True
    reads_files = False
    needs_runs = True

    def document(self, output: RowPage[Entry]) -> RowPage[msgspec.Raw]:
        return RowPage([*map(event_document, output.rows)], output.further)

    def terminal_document(self, output: RowPage[Entry]) -> list[Any]:
        """The newest last."""
        return [msgspec.json.decode(row) for row in self.document(output).rows[::-1]]


class ListEvents(EventPage):
    """Look for events, the newest last.

    Everything that is recorded can be found here.
    """

    command = "events"
    examples = (
        "folkmoot events --agent coder --since 2h",
        "folkmoot events --role conversation.main",
        "folkmoot events --type 'task.*' --type zombie.abandoned --json",
        "folkmoot events --work-session ws_1f0a2b3c-… --step s2",
    )
    http = Http(method="GET", path="/events", pages="before", answer=list[EventDocument])
    run_id: Annotated[str, Spelling(terminal="--run", metavar="ID")] = msgspec.field(default="", name="run")
    """Of a run, a task, a plan, a decision or a work session alone."""
    work_session: Annotated[str, _ID] = ""
    """Of everything in a work session: `ws_…`."""
    agent: Annotated[str, _ID] = ""
    """Of one agent, or of `user`."""
    session: Annotated[str, _ID] = ""
    """Of one agent session."""
    step: Annotated[str, _ID] = ""
    """Of one step of a plan, with its runs."""
    role: Annotated[Role | None, Spelling(terminal=None)] = None
    """What an event is to others: of this role alone."""
    type: Annotated[tuple[str, ...], Meta(max_length=20), Spelling(metavar="TYPE")] = ()
    """Of this type, or `task.*`."""
    since: Annotated[str, _WHEN] = ""
    """Not before this: `2026-03-01`, `2026-03-01T12:00`, `2h`."""
    until: Annotated[str, _WHEN] = ""
    """Before this."""
    view_category: Annotated[CategoryId | None, Spelling(terminal=None)] = None
    """Of the work sessions that are about this."""
    limit: Annotated[int, Meta(ge=1, le=10_000), Spelling(http=False)] = 100
    """At most so many."""
    before: Annotated[int, Meta(ge=0), Spelling(http=False)] = 0
    """Only those before this number: the next page."""

    async def run(self, project: OpenProject, actor: Actor) -> RowPage[Entry]:
        return await self.find(project, "")

    async def find(self, project: OpenProject, text: str) -> RowPage[Entry]:
        about = await self._about(project)
        found: list[Entry] = []
        wanted, before = self._filter(project.clock.now()), self.before
        for _ in range(0, LOOKED_AT, 1000):
            size = 1000 if text or about is not None else self.limit + 1
            entries = await project.host.find(replace(wanted, before=before, limit=size))
            found += [
                entry
                for entry in entries
                if (about is None or entry.draft.work_session_id in about)
                and text in to_line(entry).decode().lower()
            ]
            more = len(entries) == size
            before = entries[-1].seq if entries else before
            if len(found) > self.limit or not more:
                break
        shown = found[: self.limit]
        if len(found) > self.limit:
            before, more = shown[-1].seq, True
        return RowPage(shown, str(before) if more else "")

    def _filter(self, now: str) -> Filter:
        return Filter(
            work_session=self.work_session,
            run=self.run_id,
            session=self.session,
            agent=self.agent,
            step=self.step,
            role=self.role or "",
            types=self.type,
            since=moment(self.since, now),
            until=moment(self.until, now),
        )

    async def _about(self, project: OpenProject) -> set[str] | None:
        if not self.view_category:
            return None
        return {row.id for row in await project.host.work_rows() if row.category == self.view_category}


class SearchEvents(ListEvents, kw_only=True):
    """Events in which a text stands."""

    command = ""
    http = Http(method="GET", path="/events/search", pages="before", answer=list[EventDocument])
    q: Text
    """What stands somewhere in the event; case does not matter."""

    async def run(self, project: OpenProject, actor: Actor) -> RowPage[Entry]:
        return await self.find(project, self.q.lower())


class ListRunEvents(EventPage):
    """What happened in a run, in order."""

    http = Http(
        method="GET", path="/runs/{id}/events", name="runEvents", pages="after", answer=list[EventDocument]
    )
    subject = "id"
    id: RunName
    limit: Annotated[int, Spelling(http=False)] = 100
    after: Annotated[Annotated[int, Meta(ge=0, le=2**53 - 1)] | None, Spelling(http=False)] = None

    async def run(self, project: OpenProject, actor: Actor) -> RowPage[Entry]:
        run = (await find_run(project.journal, self.id)).run_id
        read = project.journal.read(Query(stream=run))
        entries = [entry async for entry in read if entry.run_seq > (self.after or 0)]
        shown = entries[: self.limit]
        return RowPage(shown, str(shown[-1].run_seq) if len(shown) < len(entries) else "")


OPERATIONS: tuple[OperationType, ...] = (ListEvents, SearchEvents, ListRunEvents)
