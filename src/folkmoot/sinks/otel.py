"""Runs as traces: every agent, request and call a span, and the metrics of the models, for any OpenTelemetry backend.

What is under way is kept nowhere: it follows from the journal, and is read there again whenever it is not at hand. What
is kept with the sink's position are the metrics alone, whose size goes by the number of models.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec
from msgspec.structs import replace

from folkmoot.domain.entry import Entry
from folkmoot.domain.events import RunForked
from folkmoot.domain.message import Message
from folkmoot.errors import FolkmootError
from folkmoot.ports import Journal, Query
from folkmoot.sinks import genai
from folkmoot.sinks.meters import Meters, counted
from folkmoot.sinks.span import Span
from folkmoot.sinks.spans import Trace

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
        return replace(span, attributes={**span.attributes, **genai.prompt(sent)})
