"""Sinks: where events are sent on to, and how far each of these places is."""

from __future__ import annotations

import msgspec

from folkmoot.engine.standing import lag, standing
from folkmoot.http.operation import Asked, Operation


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


async def list_sinks(asked: Asked) -> list[SinkRow]:
    journal, rows = asked.desks.journal, []
    for name, sink in asked.moot.graph.settings.sinks.items():
        at = await standing(journal, name)
        status = "failing" if at.failed else "ok"
        rows.append(SinkRow(name, status, sink.kind, at.seq, await lag(journal, sink, at), at.failed or None))
    return rows


OPERATIONS = (
    Operation(
        method="GET",
        path="/sinks",
        summary="Where events are sent on to, and how far each place is",
        handle=list_sinks,
        answer=list[SinkRow],
    ),
)
