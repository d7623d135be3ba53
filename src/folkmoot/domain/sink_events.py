"""What can happen to a sink. Each has a stream of its own, `sink_<name>`, of which nothing is sent on to any sink."""

from __future__ import annotations

from folkmoot.domain.event import Event

STREAM = "sink_"
"""What the names of these streams begin with."""


class SinkMoved(Event):
    """A sink has taken everything that is meant for it, up to an entry of the journal."""

    type = "sink.moved"
    seq: int
    kept: str = ""
    """What it goes on with next time: a dashboard, the id of its message."""


class MilestoneSyncFailed(Event):
    """A sink could not be reached again and again. What it missed is sent on when it is back; told once until then."""

    type = "milestone.sync_failed"
    sink: str
    error: str
    seq: int = 0
    """Up to where it had taken everything."""
