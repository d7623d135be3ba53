"""Runs as traces and metrics of the models, for any OpenTelemetry backend.

What is under way is kept nowhere: it follows from the journal, and is read there again whenever it is not at hand. What
is kept with the sink's position are the metrics alone, counted up since the beginning of the journal: so a batch that
comes again comes to the same sums, and their size goes by the number of models.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

import msgspec
from msgspec.structs import replace

from folkmoot.domain.entry import Entry
from folkmoot.domain.events import RunForked
from folkmoot.domain.message import Message
from folkmoot.domain.value import Value
from folkmoot.errors import FolkmootError
from folkmoot.ports import Journal, Query
from folkmoot.sinks import genai
from folkmoot.sinks.spans import Span, Trace

TOKENS, DURATION = "gen_ai.client.token.usage", "gen_ai.client.operation.duration"
BOUNDS: dict[str, tuple[float, ...]] = {
    TOKENS: tuple(float(4**power) for power in range(14)),
    DURATION: tuple(0.01 * 2**power for power in range(14)),
}
"""The upper ends of the buckets, as the conventions want them."""
UNITS = {TOKENS: "{token}", DURATION: "s"}
_KIND = "gen_ai.token.type"
_COMMON = (genai.OPERATION, genai.PROVIDER, genai.MODEL, genai.ANSWERED_BY)


class Series(Value, array_like=True):
    """One metric with one set of attributes."""

    metric: str
    attributes: tuple[tuple[str, str], ...]
    buckets: tuple[int, ...]
    sum: float
    least: float
    most: float


class Meters(Value):
    """All that was counted so far."""

    seq: int = 0
    """Up to this entry of the journal: none is counted again, even if it is sent on again."""
    since: str = ""
    until: str = ""
    """When what was counted first and last happened."""
    series: tuple[Series, ...] = ()


def counted(meters: Meters, spans: Iterable[Span], seq: int) -> Meters:
    """With the spans that ended with this entry."""
    if seq <= meters.seq:
        return meters
    known = {(series.metric, series.attributes): series for series in meters.series}
    since, until = meters.since, meters.until
    for span in spans:
        for metric, attributes, value in _measured(span):
            key = metric, tuple(sorted(attributes.items()))
            known[key] = _with(known.get(key) or _empty(*key), value)
            since, until = since or span.started, max(until, span.ended)
    return Meters(seq, since, until, tuple(known.values()))


def _measured(span: Span) -> Iterable[tuple[str, dict[str, str], float]]:
    if span.operation != "chat":
        return
    common = {name: span.attributes[name] for name in _COMMON if name in span.attributes}
    if span.seconds is not None:
        yield DURATION, common | ({genai.ERROR: span.error} if span.error else {}), span.seconds
    for name, kind in ((genai.INPUT_TOKENS, "input"), (genai.OUTPUT_TOKENS, "output")):
        if name in span.attributes:
            yield TOKENS, common | {_KIND: kind}, float(span.attributes[name])


def _empty(metric: str, attributes: tuple[tuple[str, str], ...]) -> Series:
    return Series(metric, attributes, (0,) * (len(BOUNDS[metric]) + 1), 0.0, float("inf"), float("-inf"))


def _with(series: Series, value: float) -> Series:
    place = bisect_left(BOUNDS[series.metric], value)
    buckets = tuple(count + (at == place) for at, count in enumerate(series.buckets))
    return replace(
        series,
        buckets=buckets,
        sum=series.sum + value,
        least=min(series.least, value),
        most=max(series.most, value),
    )


_AT_HAND = 256
"""Runs of which is remembered what is under way."""

Prompt = Callable[[str, int], Awaitable[Sequence[Message]]]
"""What a model was sent, by the run and the `runSeq` of the request."""


class OtelTransport(Protocol):
    """How it gets out; both raise `SinkFailed`, and may take their time."""

    def send_spans(self, spans: Sequence[Span]) -> None: ...

    def send_metrics(self, meters: Meters) -> None: ...

    def close(self) -> None: ...


class OtelSink:
    def __init__(
        self, wire: OtelTransport, journal: Journal, *, prompt: Prompt | None, metrics: bool
    ) -> None:
        """With `prompt`, what anybody wrote is sent too."""
        self._wire = wire
        self._journal = journal
        self._prompt = prompt
        self._metrics = metrics
        self._traces: dict[str, Trace] = {}

    async def deliver(self, entries: Sequence[Entry], kept: str) -> str:
        before = msgspec.json.decode(kept, type=Meters) if kept else Meters()
        meters, spans = before, list[Span]()
        for entry in entries:
            ended = (await self._trace(entry)).take(entry)
            meters = counted(meters, ended, entry.seq)
            spans += ended
        try:
            if spans:
                await asyncio.to_thread(self._wire.send_spans, [await self._told(span) for span in spans])
            if self._metrics and meters.series != before.series:
                await asyncio.to_thread(self._wire.send_metrics, meters)
        finally:
            self._forget()
        return msgspec.json.encode(meters).decode() if self._metrics else ""

    async def close(self) -> None:
        self._wire.close()

    async def _trace(self, entry: Entry) -> Trace:
        """As it was before this entry: the one at hand, if it has not gone further; a batch may come again."""
        trace = self._traces.get(entry.stream)
        if trace is None or trace.seq >= entry.seq:
            trace = await self._read(entry.stream, entry.seq)
        self._traces[entry.stream] = trace
        return trace

    async def _read(self, run: str, until: int) -> Trace:
        forked = Query(stream=run, types=(RunForked.type,))
        past = [mark.run_seq async for mark in self._journal.read(forked)]
        trace = Trace(run, forked=max(past, default=0), content=self._prompt is not None)
        async for entry in self._journal.read(Query(stream=run)):
            if entry.seq >= until:
                break
            trace.take(entry)
        return trace

    def _forget(self) -> None:
        """Runs that are over, and those that were longest at hand."""
        under_way = [(run, trace) for run, trace in self._traces.items() if not trace.over]
        self._traces = dict(under_way[-_AT_HAND:])

    async def _told(self, span: Span) -> Span:
        if not self._prompt or not span.asked:
            return span
        try:
            sent = await self._prompt(span.run, span.asked)
        except (FolkmootError, KeyError):  # a run of which not everything is kept any more
            return span
        span.attributes |= genai.prompt(sent)
        return span
