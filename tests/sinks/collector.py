"""An OpenTelemetry collector on loopback: decodes what comes as the protobuf that it is, and answers as a test tells it."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

PATIENCE = 60.0
KINDS = {Span.SPAN_KIND_CLIENT: "client", Span.SPAN_KIND_INTERNAL: "internal"}


@dataclass(frozen=True)
class Seen:
    """A span as it came."""

    name: str
    trace: str
    id: str
    parent: str
    kind: str
    start: int
    end: int
    error: bool
    links: tuple[str, ...]
    """The traces that it links to."""
    attributes: dict[str, Any]
    resource: dict[str, Any] = field(repr=False)


@dataclass
class Collector:
    url: str
    spans: list[Seen] = field(default_factory=list)
    points: list[tuple[str, dict[str, Any], int, float]] = field(default_factory=list)
    """Of each metric: name, attributes, count and sum."""
    raw: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """Each is given once, instead of 200."""
    came: queue.Queue[str] = field(default_factory=queue.Queue)
    """The paths of what was taken."""
    answering: threading.Event = field(default_factory=threading.Event)
    """While it is not set, what comes is taken, but nobody is told."""

    @property
    def by_id(self) -> dict[str, Seen]:
        return {span.id: span for span in self.spans}

    def tree(self) -> list[Any]:
        """Names, each with those below it; sorted, for many begin within the same millisecond."""
        return self._below("")

    def _below(self, parent: str) -> list[Any]:
        found = [span for span in self.by_id.values() if span.parent == parent]
        return sorted((span.name, self._below(span.id)) for span in found)

    def latest(self) -> dict[tuple[str, str, str], tuple[int, float]]:
        """Count and sum of each metric, by its name, `gen_ai.token.type` and `error.type`, as they last came."""
        return {
            (name, said.get("gen_ai.token.type", ""), said.get("error.type", "")): (count, total)
            for name, said, count, total in self.points
        }

    def take(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str]]:
        self.raw.append(body)
        self.headers.append(headers)
        if self.answers:
            return self.answers.pop(0)
        {"/v1/traces": self._traces, "/v1/metrics": self._metrics}[path](body)
        self.came.put(path)
        self.answering.wait(PATIENCE)
        return 200, {}

    def _traces(self, body: bytes) -> None:
        for each in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = _plain(each.resource.attributes)
            for scope in each.scope_spans:
                self.spans += [_seen(span, resource) for span in scope.spans]

    def _metrics(self, body: bytes) -> None:
        for each in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for scope in each.scope_metrics:
                for metric in scope.metrics:
                    self.points += [
                        (metric.name, _plain(point.attributes), point.count, point.sum)
                        for point in metric.histogram.data_points
                    ]


@contextmanager
def collector(port: int = 0) -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers = found.take(self.path, dict(self.headers), body)
            with suppress(BrokenPipeError):  # whoever sent it may be dead by now
                self.send_response(status)
                for name, value in {"Content-Length": "0", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        found = Collector(f"http://127.0.0.1:{server.server_port}")
        found.answering.set()
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield found
        finally:
            found.answering.set()
            server.shutdown()
            thread.join()


def _seen(span: Span, resource: dict[str, Any]) -> Seen:
    return Seen(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        KINDS[span.kind],
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        span.status.code == span.status.STATUS_CODE_ERROR,
        tuple(link.trace_id.hex() for link in span.links),
        _plain(span.attributes),
        resource,
    )


def _plain(attributes: Any) -> dict[str, Any]:
    return {each.key: _value(each.value) for each in attributes}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)
