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
from folkmoot.http.endpoint import ApiRequest, Endpoint
from folkmoot.http.problems import HttpError
from folkmoot.http.requests import ApiInput, Position
from folkmoot.http.state import ServerState
from folkmoot.http.stream.event_source import EventSource, SseMessage
from folkmoot.http.stream.hub import DELTA, Hub, build_filter, is_delta_match, is_match, wants_deltas
from folkmoot.journal.codec import to_line
from folkmoot.ports import Filter, Query

KNOWN_SPEAKERS = 1_000
"""Sessions whose agents one stream remembers."""


class RunStreamQuery(ApiInput):
    after: Position | None = None
    """The `seq` of the last event that is known already; `Last-Event-ID` says the same and wins."""
    agent: str = ""
    """Of one agent, or of `user`."""
    session: str = ""
    """Of one agent session."""
    role: Role | None = None
    """What an event is to others: of this role alone."""
    types: Annotated[tuple[str, ...], Meta(max_length=20)] = msgspec.field(default=(), name="type")
    """Of this type, or `task.*`; may be repeated."""


class StreamQuery(RunStreamQuery):
    run: str = ""
    """Of a run, a task, a plan, a decision or a work session alone."""
    work_session: str = ""
    """Of everything in a work session."""


async def stream(asked: ApiRequest) -> Response:
    query: StreamQuery = asked.query
    hub, wanted, after = asked.house.hub, build_filter(query), _read_resume_position(asked, query)
    if after is None:  # from here on, however long it takes until the client is told
        after = await asked.moot.position()
    return EventSource(hub.clock, _stream_events(hub, wanted, after), *_list_delta_sources(asked, wanted))


async def stream_run(asked: ApiRequest) -> Response:
    """It ends with the run. Who has seen the end is told by 204 not to come back."""
    query: RunStreamQuery = asked.query
    run, after = asked.id, _read_resume_position(asked, query) or 0
    hub, wanted = asked.house.hub, replace(build_filter(query), run=run)
    if not [entry async for entry in hub.journal.read(Query(stream=run, limit=1))]:
        raise NotFound(f"there is no run {run!r}", code="run_not_found")
    if await _is_fully_delivered(hub, wanted, after):
        return Response(status_code=204)
    return EventSource(
        hub.clock, _stream_until_run_end(hub, wanted, after), *_list_delta_sources(asked, wanted)
    )


def _read_resume_position(asked: ApiRequest, query: RunStreamQuery) -> int | None:
    last = asked.request.headers.get("last-event-id", "")
    if not last:
        return query.after
    try:
        return msgspec.convert(last, Position, strict=False)
    except msgspec.ValidationError:
        raise HttpError(
            400, f"{last[:80]!r} is the id of no event: Last-Event-ID is the `seq` of one"
        ) from None


async def _stream_events(hub: Hub, wanted: Filter, after: int) -> AsyncIterator[SseMessage]:
    async for entry in hub.subscribe(wanted, after):
        yield _build_message(entry)


async def _stream_until_run_end(hub: Hub, wanted: Filter, after: int) -> AsyncIterator[SseMessage]:
    """All of the run is looked at, because its end need not be among what is wanted."""
    async for entry in hub.subscribe(Filter(run=wanted.run), after):
        if is_match(wanted, entry):
            yield _build_message(entry)
        if isinstance(entry.event, RUN_ENDS):
            return


async def _is_fully_delivered(hub: Hub, wanted: Filter, after: int) -> bool:
    """Whether the run has ended, and all that is wanted of it is known."""
    ends = Query(stream=wanted.run, types=tuple(end.type for end in RUN_ENDS), limit=1)
    if not [entry async for entry in hub.journal.read(ends)]:
        return False
    async for entry in hub.journal.read(Query(stream=wanted.run, after=after)):
        if is_match(wanted, entry):
            return False
    return True


def _build_message(entry: Entry) -> SseMessage:
    return SseMessage(entry.event.type, to_line(entry)[:-1], entry.seq)


def _list_delta_sources(asked: ApiRequest, wanted: Filter) -> tuple[AsyncIterator[SseMessage], ...]:
    return (_stream_deltas(asked.house, wanted),) if wants_deltas(wanted) else ()


async def _stream_deltas(house: ServerState, wanted: Filter) -> AsyncIterator[SseMessage]:
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
        if speaker and is_delta_match(wanted, delta.run, speaker):
            piece = {
                "runId": delta.run,
                "sessionId": speaker.session_id,
                "agentId": speaker.agent_id,
                "span": delta.span,
                "text": delta.text,
            }
            yield SseMessage(DELTA, msgspec.json.encode(piece))


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
