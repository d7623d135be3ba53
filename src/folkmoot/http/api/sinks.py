"""Sinks: where events are sent on to, and how far each of these places is."""

from __future__ import annotations

from typing import Literal

import msgspec

from folkmoot.engine.sinking import lag, move, standing
from folkmoot.errors import NotFound
from folkmoot.http.endpoint import Asked, Endpoint
from folkmoot.http.requests import Given, Position


class SinkRow(msgspec.Struct):
    id: str
    status: str
    """`ok`, or `failing`."""
    kind: str
    position: int
    """Up to this entry it has taken everything."""
    lag: int
    """So many events wait for it."""
    error: str | None


class MoveSink(Given):
    to: Literal["start", "end"] | Position
    """The entry after which it goes on: the beginning, the end, or its `seq`."""


class SinkPlace(msgspec.Struct):
    id: str
    position: int
    """It goes on after this entry."""


async def list_sinks(asked: Asked) -> list[SinkRow]:
    journal, rows = asked.desks.journal, []
    for name, sink in asked.moot.graph.settings.sinks.items():
        at = await standing(journal, name)
        status = "failing" if at.failed else "ok"
        rows.append(SinkRow(name, status, sink.kind, at.seq, await lag(journal, sink, at), at.failed or None))
    return rows


async def move_sink(asked: Asked) -> SinkPlace:
    """To send everything again, or to leave out what lies behind."""
    if asked.id not in asked.moot.graph.settings.sinks:
        raise NotFound(f"there is no sink {asked.id!r}", code="sink_not_found")
    body: MoveSink = asked.body
    return SinkPlace(asked.id, await move(asked.desks.journal, asked.house.clock, asked.id, body.to))


OPERATIONS = (
    Endpoint(
        method="POST",
        path="/sinks/{id}/move",
        summary="Let a sink go on from another place",
        handle=move_sink,
        body=MoveSink,
        answer=SinkPlace,
        problems=(409,),
    ),
    Endpoint(
        method="GET",
        path="/sinks",
        summary="Where events are sent on to, and how far each place is",
        handle=list_sinks,
        answer=list[SinkRow],
    ),
)
