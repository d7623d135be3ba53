"""Spans and metrics over OTLP/HTTP, with OpenTelemetry's own exporters; only this file knows them.

What `OTEL_EXPORTER_OTLP_*`, `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say, they read themselves. Tries are not
theirs, but those of whoever feeds the sink: so a failure is told at once, and the last words are the sink's.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import requests
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from folkmoot.domain.trace import span_id, trace_id
from folkmoot.errors import SinkFailed
from folkmoot.sinks import genai
from folkmoot.sinks.http import asked_wait, reason
from folkmoot.sinks.otel import BOUNDS, UNITS, Meters, Series
from folkmoot.sinks.spans import Span

_SCOPE = InstrumentationScope("folkmoot")
_OWN = {"service.name": "folkmoot"}
_TOO_OFTEN = 429

# What fails is the sink's to tell; without a handler, Python would write it to stderr.
logging.getLogger("opentelemetry.exporter").addHandler(logging.NullHandler())


class Otlp:
    """The way to one collector."""

    def __init__(self, url: str, headers: Mapping[str, str], resource: Mapping[str, str]) -> None:
        """An empty `url` leaves the address to the environment."""
        self._line = _OtlpSession()
        base = url.rstrip("/")
        given = dict(headers) or None
        self._spans: SpanExporter = OTLPSpanExporter(
            f"{base}/v1/traces" if url else None, headers=given, session=self._line
        )
        self._metrics = OTLPMetricExporter(
            f"{base}/v1/metrics" if url else None, headers=given, session=self._line
        )
        around = OTELResourceDetector().detect()
        self._resource = Resource(dict(_OWN)).merge(around).merge(Resource(dict(resource)))

    def send_spans(self, spans: Sequence[Span]) -> None:
        """Raises `SinkFailed`."""
        self._line.failure = None
        done = self._spans.export([_readable(span, self._resource) for span in spans])
        self._check(done.name)

    def send_metrics(self, meters: Meters) -> None:
        """Raises `SinkFailed`."""
        self._line.failure = None
        names = dict.fromkeys(series.metric for series in meters.series)
        metrics = [_metric(name, meters) for name in names]
        scoped = ScopeMetrics(_SCOPE, metrics, "")
        done = self._metrics.export(MetricsData([ResourceMetrics(self._resource, [scoped], "")]))
        self._check(done.name)

    def _check(self, outcome: str) -> None:
        if self._line.failure:
            raise self._line.failure
        if outcome != "SUCCESS":
            raise SinkFailed(
                "the batch could not be written as OTLP, or is too large; give a smaller `batch`"
            )

    def close(self) -> None:
        self._spans.shutdown()
        self._metrics.shutdown()


class _OtlpSession(requests.Session):
    """Of one request, what came of it: nothing is followed elsewhere, and only the host is told."""

    failure: SinkFailed | None = None

    def request(self, method: Any, url: Any, *args: Any, **options: Any) -> requests.Response:
        host = urlsplit(str(url)).hostname
        try:
            answer = super().request(method, url, *args, **{**options, "allow_redirects": False})
        except requests.RequestException as error:
            self.failure = SinkFailed(f"{host} could not be reached ({reason(error)})")
            raise self.failure from None
        if answer.status_code // 100 != 2:
            asked = answer.status_code == _TOO_OFTEN or "Retry-After" in answer.headers
            wait = asked_wait(answer.headers, b"") if asked else None
            self.failure = SinkFailed(
                f"{host} answered {answer.status_code}", status=answer.status_code, wait=wait
            )
            raise self.failure
        return answer


def _readable(span: Span, resource: Resource) -> ReadableSpan:
    failed = {genai.ERROR: span.error} if span.error else {}
    return ReadableSpan(
        f"{span.operation} {span.subject}",
        _context(span.trace_id, span.id),
        _context(span.trace_id, span.parent_id) if span.parent_id else None,
        resource,
        {**span.attributes, **failed},
        links=[Link(_context(trace_id(span.source, span.source_within), span_id(span.source)))]
        if span.source
        else [],
        kind=SpanKind.CLIENT if span.operation == "chat" else SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR if span.error else StatusCode.UNSET),
        start_time=_nanoseconds(span.started),
        end_time=_nanoseconds(span.ended),
        instrumentation_scope=_SCOPE,
    )


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=TraceFlags(1))


def _metric(name: str, meters: Meters) -> Metric:
    points = [_point(series, meters) for series in meters.series if series.metric == name]
    return Metric(name, "", UNITS[name], Histogram(points, AggregationTemporality.CUMULATIVE))


def _point(series: Series, meters: Meters) -> HistogramDataPoint:
    return HistogramDataPoint(
        attributes=dict(series.attributes),
        start_time_unix_nano=_nanoseconds(meters.since),
        time_unix_nano=_nanoseconds(meters.until),
        count=sum(series.buckets),
        sum=series.sum,
        bucket_counts=series.buckets,
        explicit_bounds=BOUNDS[series.metric],
        min=series.least,
        max=series.most,
    )


def _nanoseconds(ts: str) -> int:
    return round(datetime.fromisoformat(ts).timestamp() * 1_000) * 1_000_000
