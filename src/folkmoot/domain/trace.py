"""What a run and its parts are called in OpenTelemetry.

All of it follows from their names here, so that whoever asks, in whichever process, after whatever crash, gets the same
ids, and nobody has to remember them. Only what a run is part of it is told, by whoever asks for it: as `traceparent`,
the way W3C's Trace Context writes a trace and a span.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import TypedDict

from folkmoot.domain.sinks import TRACE_ID, SinkSettings
from folkmoot.domain.value import Value

PARENT, STATE = "traceparent", "tracestate"
_PARENT = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
)
_STATE = re.compile("[\x20-\x7e]{1,512}")
_KNOWN_FLAGS = 3
_SAMPLED = 1


class Told(TypedDict, total=False):
    """What somebody says of the trace that a request belongs to."""

    traceparent: str
    tracestate: str


def told(headers: Mapping[str, object]) -> Told:
    """What these say, as far as it is sound; names are in lower case. The standard wants all else ignored."""
    parent, state = (str(headers.get(name, "")).strip() for name in (PARENT, STATE))
    found = _PARENT.fullmatch(parent)
    if not found or (found[1] == "00" and found[5]):
        return {}
    return Told(traceparent=parent, tracestate=state) if _STATE.fullmatch(state) else Told(traceparent=parent)


def trace_id(run: str, traceparent: str = "") -> str:
    """32 hexadecimal digits: all that a run does is in one trace, over any number of processes. It is that of whoever
    asked for the run, if they said which, and else its own."""
    return traceparent.split("-")[1] if traceparent else sha256(f"trace {run}".encode()).hexdigest()[:32]


def span_id(name: str) -> str:
    """16 hexadecimal digits; `name` is a session's, which begins with its run's, or of something in that session."""
    return sha256(f"span {name}".encode()).hexdigest()[:16]


def parent_id(traceparent: str) -> str:
    """The span of whoever asked for a run; empty if they did not say."""
    return traceparent.split("-")[2] if traceparent else ""


def attempt_name(session: str, turn: int, attempt: int) -> str:
    """Of the span of one request to a model."""
    return f"{session}/turn:{turn}/attempt:{attempt}"


def call_name(session: str, turn: int, call: int) -> str:
    """Of the span of one call of a tool."""
    return f"{session}/turn:{turn}/call:{call}"


class Passing(Value):
    """What others that work for a run are told of its trace."""

    trace: str
    flags: int = _SAMPLED
    state: str = ""

    def within(self, name: str) -> dict[str, str]:
        """Headers: whatever is done there belongs into the span of this name."""
        parent = {PARENT: f"00-{self.trace}-{span_id(name)}-{self.flags:02x}"}
        return {**parent, STATE: self.state} if self.state else parent


def passing(run: str, traceparent: str, tracestate: str, sinks: Iterable[SinkSettings]) -> Passing | None:
    """None where nobody would find the trace, or the project wants nobody told."""
    collectors = [sink for sink in sinks if sink.kind == "otel"]
    if not (collectors or traceparent) or not all(sink.propagate for sink in collectors):
        return None
    flags = int(traceparent.split("-")[3], 16) & _KNOWN_FLAGS if traceparent else _SAMPLED
    return Passing(trace_id(run, traceparent), flags, tracestate)


def trace_url(sinks: Iterable[SinkSettings], trace: str) -> str:
    """Where people look at a trace; empty if no sink says so."""
    templates = (sink.trace_url for sink in sinks if sink.trace_url)
    return next(templates, "").replace(TRACE_ID, trace)
