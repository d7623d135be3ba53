"""Events: everything that is recorded, by who, where, when and what; the newest first."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from folkmoot.domain.category import CategoryId
from folkmoot.domain.duration import moment
from folkmoot.domain.entry import Entry, Role
from folkmoot.http.api.shapes import EventDocument, event_document
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.problems import input_refused
from folkmoot.http.requests import Back, Part, Words
from folkmoot.journal.codec import to_line
from folkmoot.ports import Filter

LOOKED_AT = 10_000
"""Entries for one page; if too few of them fit, the page is short and `Link` leads on."""


class EventsQuery(Back):
    run: str = ""
    """Of a run, a task, a plan, a decision or a work session alone."""
    work_session: str = ""
    """Of everything in a work session."""
    session: str = ""
    """Of one agent session."""
    agent: str = ""
    """Of one agent, or of `user`."""
    step: str = ""
    """Of one step of a plan, with its runs."""
    role: Role | None = None
    """What an event is to others: of this role alone."""
    type: Annotated[tuple[str, ...], Meta(max_length=20)] = ()
    """Of this type, or `task.*`; may be repeated."""
    since: str = ""
    """Not before this day or moment in UTC, or so long ago: `2h`."""
    until: str = ""
    """Before this."""
    view_category: CategoryId | None = None
    """Of the work sessions that are about this."""


class SearchQuery(EventsQuery, kw_only=True):
    q: Words
    """What stands somewhere in the event; case does not matter."""


async def list_events(asked: Asked) -> Part:
    return await _found(asked, asked.query, "")


async def search_events(asked: Asked) -> Part:
    return await _found(asked, asked.query, asked.query.q.lower())


async def _found(asked: Asked, query: EventsQuery, text: str) -> Part:
    wanted = _filter(query, asked.desks.clock.now())
    about = await _about(asked, query.view_category) if query.view_category else None
    found: list[Entry] = []
    before = query.before
    for _ in range(0, LOOKED_AT, 1000):
        size = 1000 if text or about is not None else query.limit + 1
        entries = await asked.moot.find(replace(wanted, before=before, limit=size))
        found += [
            entry
            for entry in entries
            if (about is None or entry.draft.work_session_id in about)
            and text in to_line(entry).decode().lower()
        ]
        more = len(entries) == size
        before = entries[-1].seq if entries else before
        if len(found) > query.limit or not more:
            break
    shown = found[: query.limit]
    if len(found) > query.limit:
        before, more = shown[-1].seq, True
    return Part([event_document(entry) for entry in shown], "before", str(before) if more else "")


def _filter(query: EventsQuery, now: str) -> Filter:
    with input_refused():
        since, until = moment(query.since, now), moment(query.until, now)
    return Filter(
        work_session=query.work_session,
        run=query.run,
        session=query.session,
        agent=query.agent,
        step=query.step,
        role=query.role or "",
        types=query.type,
        since=since,
        until=until,
    )


async def _about(asked: Asked, category: CategoryId) -> set[str]:
    categories = (await asked.house.folds.now()).work.categories()
    return {id for id, each in categories.items() if each == category}


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/events",
        summary="What happened, the newest first",
        handle=list_events,
        query=EventsQuery,
        answer=list[EventDocument],
    ),
    Endpoint(
        method="GET",
        path="/events/search",
        summary="Events in which a text stands",
        handle=search_events,
        query=SearchQuery,
        answer=list[EventDocument],
    ),
)
