"""What happens, as it happens, as server-sent events: in all of the project, or in one run until it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace
from starlette.responses import Response

from folkmoot.domain.entry import Draft, Entry, Role
from folkmoot.domain.events import RUN_ENDS, SessionStarted
from folkmoot.errors import NotFound
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.problems import Refused
from folkmoot.http.requests import Given, Position
from folkmoot.http.state import ServerState
from folkmoot.http.stream.event_source import EventSource, Message
from folkmoot.http.stream.hub import DELTA, Hub, delta_fits, fits, wants_deltas
from folkmoot.journal.codec import to_line
from folkmoot.ports import Filter, Query

KNOWN_SPEAKERS = 1_000
"""Sessions whose agents one stream remembers."""


class RunStreamQuery(Given):
    after: Position | None = None
    """The `seq` of the last event that is known already; `Last-Event-ID` says the same and wins."""
    agent: str = ""
    """Of one agent, or of `user`."""
    session: str = ""
    """Of one agent session."""
    role: Role | None = None
    """What an event is to others: of this role alone."""
    type: Annotated[tuple[str, ...], Meta(max_length=20)] = ()
    """Of this type, or `task.*`; may be repeated."""


class StreamQuery(RunStreamQuery):
    run: str = ""
    """Of a run, a task, a plan, a decision or a work session alone."""
    work_session: str = ""
    """Of everything in a work session."""


async def stream(asked: Asked) -> Response:
    query: StreamQuery = asked.query
    wanted = replace(_wanted(query), run=query.run, work_session=query.work_session)
    hub, after = asked.house.hub, _after(asked, query)
    if after is None:  # from here on, however long it takes until the client is told
        after = await asked.moot.position()
    return EventSource(hub.clock, _events(hub, wanted, after), *_said(asked, wanted))


async def stream_run(asked: Asked) -> Response:
    """It ends with the run. Who has seen the end is told by 204 not to come back."""
    query: RunStreamQuery = asked.query
    run, after = asked.id, _after(asked, query) or 0
    hub, wanted = asked.house.hub, replace(_wanted(query), run=run)
    if not [entry async for entry in hub.journal.read(Query(stream=run, limit=1))]:
        raise NotFound(f"there is no run {run!r}", code="run_not_found")
    if await _is_told(hub, wanted, after):
        return Response(status_code=204)
    return EventSource(hub.clock, _until_its_end(hub, wanted, after), *_said(asked, wanted))


def _wanted(query: RunStreamQuery) -> Filter:
    return Filter(agent=query.agent, session=query.session, role=query.role or "", types=query.type)


def _after(asked: Asked, query: RunStreamQuery) -> int | None:
    last = asked.request.headers.get("last-event-id", "")
    if not last:
        return query.after
    try:
        return msgspec.convert(last, Position, strict=False)
    except msgspec.ValidationError:
        raise Refused(
            400, f"{last[:80]!r} is the id of no event: Last-Event-ID is the `seq` of one"
        ) from None


async def _events(hub: Hub, wanted: Filter, after: int) -> AsyncIterator[Message]:
    async for entry in hub.subscribe(wanted, after):
        yield _message(entry)


async def _until_its_end(hub: Hub, wanted: Filter, after: int) -> AsyncIterator[Message]:
    """All of the run is looked at, because its end need not be among what is wanted."""
    async for entry in hub.subscribe(Filter(run=wanted.run), after):
        if fits(wanted, entry):
            yield _message(entry)
        if isinstance(entry.event, RUN_ENDS):
            return


async def _is_told(hub: Hub, wanted: Filter, after: int) -> bool:
    """Whether the run has ended, and all that is wanted of it is known."""
    ends = Query(stream=wanted.run, types=tuple(end.type for end in RUN_ENDS), limit=1)
    if not [entry async for entry in hub.journal.read(ends)]:
        return False
    async for entry in hub.journal.read(Query(stream=wanted.run, after=after)):
        if fits(wanted, entry):
            return False
    return True


def _message(entry: Entry) -> Message:
    return Message(entry.event.type, to_line(entry)[:-1], entry.seq)


def _said(asked: Asked, wanted: Filter) -> tuple[AsyncIterator[Message], ...]:
    return (_pieces(asked.house, wanted),) if wants_deltas(wanted) else ()


async def _pieces(house: ServerState, wanted: Filter) -> AsyncIterator[Message]:
    """What models say meanwhile, for those who want it; each with the agent and the session that says it."""
    speakers: dict[tuple[str, str], Draft | None] = {}
    async for delta in house.tokens.listen():
        if wanted.run not in ("", delta.run):
            continue
        place = (delta.run, delta.span)
        if place not in speakers:
            if len(speakers) > KNOWN_SPEAKERS:
                speakers.clear()
            began = Query(stream=delta.run, types=(SessionStarted.type,))
            async for entry in house.hub.journal.read(began):
                speakers[entry.stream, entry.draft.span] = entry.draft
        speaker = speakers.setdefault(place, None)
        if speaker and delta_fits(wanted, delta.run, speaker):
            piece = {
                "runId": delta.run,
                "sessionId": speaker.session_id,
                "agentId": speaker.agent_id,
                "span": delta.span,
                "text": delta.text,
            }
            yield Message(DELTA, msgspec.json.encode(piece))


OPERATIONS = (
    Endpoint(
        method="GET",
        path="/stream",
        summary="What happens, as it happens: server-sent events, each as the journal has it",
        handle=stream,
        query=StreamQuery,
        media=("text/event-stream",),
    ),
    Endpoint(
        method="GET",
        path="/runs/{id}/stream",
        summary="One run as it happens, from its beginning to its end, with what its models say meanwhile",
        handle=stream_run,
        query=RunStreamQuery,
        media=("text/event-stream",),
    ),
)
