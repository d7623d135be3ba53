"""What a run and its parts are called in OpenTelemetry.

All of it follows from their names here, so that whoever asks, in whichever process, after whatever crash, gets the same
ids, and nobody has to remember them.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from folkmoot.domain.sinks import TRACE_ID, SinkSettings


def trace_id(run: str) -> str:
    """32 hexadecimal digits: all that a run does is one trace, over any number of processes."""
    return sha256(f"trace {run}".encode()).hexdigest()[:32]


def span_id(name: str) -> str:
    """16 hexadecimal digits; `name` is a session's, which begins with its run's, or of something in that session."""
    return sha256(f"span {name}".encode()).hexdigest()[:16]


def trace_url(sinks: Iterable[SinkSettings], run: str) -> str:
    """Where people look at the trace of a run; empty if no sink says so."""
    templates = (sink.trace_url for sink in sinks if sink.trace_url)
    return next(templates, "").replace(TRACE_ID, trace_id(run))
