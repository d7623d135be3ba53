"""Where events are sent on to, as `folkmoot.yaml` says it, and what can happen to such a sink."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Literal

from msgspec import Meta

from folkmoot.domain.budget import Duration
from folkmoot.domain.entry import DELEGATION_EVENTS, TASK_EVENTS, Draft, Event, Role, role
from folkmoot.domain.naming import Address, Variable
from folkmoot.domain.value import Value

SinkKind = Literal["ndjson", "discord", "dashboard", "webhook", "otel"]
COORDINATION = tuple(f"{prefix}*" for prefix in (*TASK_EVENTS, *DELEGATION_EVENTS))
"""How agents work together: what a sink gets that does not say what it wants."""
_USUAL: dict[SinkKind, tuple[str, ...]] = {
    "dashboard": ("*",),
    "otel": ("run.*", "session.*", "team.*", "llm.*", "tool.*"),
}
"""What a kind gets that is not for coordination."""
_BATCH: dict[SinkKind, int] = {"discord": 10, "webhook": 100}
"""Discord takes no more than 10 embeds at once."""
OTLP_ENDPOINT, OTLP_HEADERS = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"
"""The variables of OpenTelemetry itself that hold the address of a collector, and what is sent along."""
TRACE_ID = "{traceId}"


class SinkSettings(Value, forbid_unknown_fields=True):
    """A place that events are sent on to by `folkmoot sinks run`."""

    kind: SinkKind
    """`ndjson`: a file; `discord`: embeds in a channel; `dashboard`: one message there that is edited; `webhook`:
    signed JSON; `otel`: traces and metrics for OpenTelemetry."""
    events: tuple[str, ...] = ()
    """Patterns of event types, such as `task.*`; `*` means all. Absent: how agents work together,
    and all with `dashboard`."""
    agents: tuple[str, ...] = ()
    """Only events of these agents, by their ids; absent: of all."""
    roles: tuple[Role, ...] = ()
    """Only events of these roles; absent: of all."""
    window: Duration = 5.0
    """How long further events are waited for, to be sent together with the first."""
    batch: Annotated[int, Meta(ge=1, le=1_000)] | None = None
    """The most events at once; absent: 10 with `discord`, 100 with `webhook`, otherwise 1000."""
    path: str | None = None
    """With `ndjson`: the file, relative to the project; absent: `.folkmoot/coordination-events.ndjson`."""
    max_bytes: Annotated[int, Meta(ge=1)] = 10 * 1024 * 1024
    """With `ndjson`: a file that would grow larger is put aside, as it is at the end of each month."""
    url: Address | None = None
    """With `webhook`: its address. With `otel`: the collector's, to which `/v1/traces` and `/v1/metrics` are added."""
    url_env: Variable | None = None
    """The environment variable that holds the address: with `discord` and `dashboard`, whose addresses are secrets;
    with `otel`, if there is no `url` either, `OTEL_EXPORTER_OTLP_ENDPOINT`."""
    secret_env: Variable | None = None
    """With `webhook`: the environment variable that holds the key of its signatures."""
    refresh: Duration = 30.0
    """With `dashboard`: how often its message is edited at most."""
    headers_env: dict[str, Variable] = {}
    """With `otel`: headers, such as a key's, each with the environment variable that holds its value."""
    resource: dict[str, str] = {}
    """With `otel`: attributes of all that is sent, such as `deployment.environment.name`."""
    content: bool = False
    """With `otel`: whether what people, agents and tools wrote is sent too."""
    metrics: bool = True
    """With `otel`: whether metrics are sent beside the traces; some backends take none."""
    propagate: bool = True
    """With `otel`: whether models, tool servers and remote agents are told, as `traceparent`, which span they work
    for."""
    trace_url: Address | None = None
    """With `otel`: where people look at a trace, with `{traceId}` in it; the page of a run links there."""

    @property
    def most(self) -> int:
        """Events at once."""
        return self.batch or _BATCH.get(self.kind, 1_000)

    @property
    def pause(self) -> float:
        """Seconds to wait for more after the first event."""
        return self.refresh if self.kind == "dashboard" else self.window

    @property
    def address_env(self) -> str:
        """The variable that holds the address; empty if it stands in the file, or there is none."""
        usual = OTLP_ENDPOINT if self.kind == "otel" else ""
        return "" if self.url else self.url_env or usual

    @property
    def file(self) -> str:
        return self.path or ".folkmoot/coordination-events.ndjson"

    def wants(self, type: str) -> bool:
        """Whether it may want events of this type; whose they are is not known yet."""
        usual = _USUAL.get(self.kind, COORDINATION)
        return any(fnmatchcase(type, pattern) for pattern in self.events or usual)

    def fits(self, draft: Draft) -> bool:
        return (
            self.wants(draft.event.type)
            and (not self.agents or draft.agent_id in self.agents)
            and (not self.roles or role(draft) in self.roles)
        )


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
