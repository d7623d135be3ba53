"""The sinks of `folkmoot.yaml`: each has what its kind needs, means something, and holds no secret."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.sinks import TRACE_ID, SinkSettings
from folkmoot.loader.findings import Findings
from folkmoot.loader.hints import near, short
from folkmoot.loader.nodes import keys, place_of
from folkmoot.loader.options import Project
from folkmoot.loader.sources import fault_of_url

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ONLY = {
    "path": ("ndjson",),
    "maxBytes": ("ndjson",),
    "url": ("webhook", "otel"),
    "urlEnv": ("discord", "dashboard", "webhook", "otel"),
    "secretEnv": ("webhook",),
    "refresh": ("dashboard",),
    "window": ("ndjson", "discord", "webhook", "otel"),
    "headersEnv": ("otel",),
    "resource": ("otel",),
    "content": ("otel",),
    "metrics": ("otel",),
    "propagate": ("otel",),
    "traceUrl": ("otel",),
    **dict.fromkeys(("events", "agents", "roles"), ("ndjson", "discord", "dashboard", "webhook")),
}
"""The kinds that a key goes with."""
_MOST_EMBEDS = 10

Wrong = Callable[..., None]


def check_sinks(project: Project, agents: Collection[str] | None, findings: Findings) -> None:
    """`agents` are the ids of all agents; None if not all were read."""
    files: dict[str, str] = {}
    for name, sink in project.settings.sinks.items():

        def wrong(message: str, *at: str | int, name: str = name) -> None:
            findings.error(place_of(project.node, ("sinks", name, *at)), message)

        if not _NAME.fullmatch(name):
            wrong(f"a sink cannot be called {short(name)}; use A-Z a-z 0-9 _ -, at most 40")
        for key in keys(project.node, ("sinks", name)):
            if key in _ONLY and sink.kind not in _ONLY[key]:
                wrong(f"`{key}` does not go with `kind: {sink.kind}`{_instead(key, sink)}", key)
        _check_place(name, sink, wrong)
        _check_filter(sink, agents, wrong)
        if sink.kind == "ndjson" and (other := files.setdefault(sink.file, name)) != name:
            wrong(f"{short(name)} and {short(other)} would write to the same file; give one another `path`")


def _instead(key: str, sink: SinkSettings) -> str:
    secret = key == "url" and sink.kind in _ONLY["urlEnv"]
    return ": its address is a secret; name the variable that holds it with `urlEnv`" if secret else ""


def _check_place(name: str, sink: SinkSettings, wrong: Wrong) -> None:
    for key, variable in (("urlEnv", sink.url_env), ("secretEnv", sink.secret_env)):
        if variable is not None and not _VARIABLE.fullmatch(variable):
            wrong(
                f"`{key}` must be the name of an environment variable; a secret never stands in a file", key
            )
    if sink.kind == "ndjson":
        path = PurePosixPath(sink.file)
        if path.is_absolute() or ".." in path.parts or path.suffix != ".ndjson":
            wrong("`path` must be a file of the project whose name ends in .ndjson", "path")
    elif sink.kind == "otel":
        _check_otel(sink, wrong)
    elif sink.kind == "webhook" and (sink.url is None) == (sink.url_env is None):
        wrong(f"{short(name)} needs either `url`, or `urlEnv` with the variable that holds it")
    elif sink.kind != "webhook" and sink.url_env is None:
        wrong(f"{short(name)} needs `urlEnv`, the variable that holds the address of the Discord webhook")
    if fault := fault_of_url(sink.url, ("http", "https")) or _fault_of_scheme(sink.url):
        wrong(f"`url` {fault}", "url")
    if sink.kind == "discord" and sink.most > _MOST_EMBEDS:
        wrong(f"Discord takes at most {_MOST_EMBEDS} at once", "batch")


def _check_otel(sink: SinkSettings, wrong: Wrong) -> None:
    if sink.url and sink.url_env:
        wrong("the address stands in `url` or in the variable that `urlEnv` names, not in both", "urlEnv")
    for header, variable in sink.headers_env.items():
        if not _VARIABLE.fullmatch(variable):
            wrong(
                f"`headersEnv` must hold names of environment variables; the value of {short(header)} never"
                " stands in a file",
                "headersEnv",
                header,
            )
    if sink.trace_url and TRACE_ID not in sink.trace_url:
        wrong(f"`traceUrl` must have {TRACE_ID} where the id of a trace stands", "traceUrl")
    elif fault := fault_of_url(sink.trace_url, ("http", "https")):
        wrong(f"`traceUrl` {fault}", "traceUrl")


def _fault_of_scheme(url: str | None) -> str:
    parts = urlsplit(url or "")
    clear = parts.scheme == "http" and parts.hostname not in _LOOPBACK
    return "must begin with https:// to leave this machine" if clear else ""


def _check_filter(sink: SinkSettings, agents: Collection[str] | None, wrong: Wrong) -> None:
    for number, pattern in enumerate(sink.events):
        if not any(SinkSettings(sink.kind, (pattern,)).wants(type) for type in EVENTS):
            wrong(f"no event fits {short(pattern)}{near(pattern, EVENTS)}", "events", number)
    for number, agent in enumerate(sink.agents if agents is not None else ()):
        if agent not in (agents or ()):
            wrong(f"there is no agent {short(agent)}{near(agent, agents or ())}", "agents", number)
