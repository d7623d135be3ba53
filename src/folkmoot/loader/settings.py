"""What `folkmoot.yaml` says, checked beyond its shapes: providers, tools, built-in tools, storage, rules and sinks.

Each must be understood, mean something that exists, and hold no secret.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from fnmatch import fnmatchcase
from ipaddress import ip_network
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from msgspec import UNSET

from folkmoot.domain import regex
from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.naming import ALIASES, BUILT_IN_SOURCES, wire_glob, wire_name
from folkmoot.domain.providers import LOOPBACK
from folkmoot.domain.rules import Match, Rule
from folkmoot.domain.settings import Provider, ToolSource
from folkmoot.domain.sinks import TRACE_ID, SinkSettings
from folkmoot.loader.document import ListNode, find, keys
from folkmoot.loader.document import Path as Keys
from folkmoot.loader.files import Misplaced, inside
from folkmoot.loader.findings import Findings, Report, near, short
from folkmoot.loader.options import ProjectSettings
from folkmoot.loader.walk import WRONG, definition, walk

_PROVIDER = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SOURCE = re.compile(r"[A-Za-z0-9_-]{1,40}")
_PROJECT = re.compile(r"[a-z0-9][a-z0-9_-]{0,47}")
_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9_-]+(\.[a-z0-9_-]+)*", re.IGNORECASE)
_SECRET_HEADERS = frozenset(("authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"))
_OWN_NAMES = BUILT_IN_SOURCES | {"agent", "router", "team", "artifact"}
_MADE_UP = "custom"
"""The id of agents that are made at run time."""
_MOST_EMBEDS = 10
_SINK_KEYS = {
    "path": ("ndjson",),
    "maxBytes": ("ndjson",),
    "url": ("webhook", "otel"),
    "urlEnv": ("discord", "dashboard", "webhook", "otel"),
    "secretEnv": ("webhook",),
    "refresh": ("dashboard",),
    "window": ("ndjson", "discord", "webhook", "otel"),
    **dict.fromkeys("headersEnv resource content metrics propagate traceUrl".split(), ("otel",)),
    **dict.fromkeys(("events", "agents", "roles"), ("ndjson", "discord", "dashboard", "webhook")),
}
"""The kinds of sinks that a key goes with."""


def check_sources(root: Path, project: ProjectSettings, findings: Findings) -> None:
    for name, provider in project.settings.providers.items():
        _check_provider(name, provider, root, findings.reporter(project.at, "providers", name))
    for name, source in project.settings.tools.items():
        _check_tools(name, source, root, findings.reporter(project.at, "tools", name))
    for number, host in enumerate(project.settings.builtins.web.allow):
        if not _is_host(host):
            message = "is no host, address or network; write `intranet.example`, `10.0.0.7` or `10.0.0.0/8`"
            findings.error(project.at("builtins", "web", "allow", number), f"{short(host)} {message}")
    check_storage(project, findings)


def _is_host(host: str) -> bool:
    with suppress(ValueError):
        return bool(ip_network(host, strict=False))
    return bool(_HOST.fullmatch(host)) and not host.replace(".", "").isdigit()


def check_storage(project: ProjectSettings, findings: Findings) -> None:
    """A file is shared and kept, so it holds no password; the environment may."""
    storage = project.settings.storage
    wrong = findings.reporter(project.at, "storage", code="bad_storage")
    if storage.project is not None and not _PROJECT.fullmatch(storage.project):
        wrong(f"`storage.project` cannot be {short(storage.project)}; use a-z 0-9 _ -, at most 48", "project")
    if storage.url is None:
        return
    if not storage.url.startswith(("postgresql://", "postgres://")):
        wrong("`storage.url` must begin with postgresql://", "url")
    if storage.shown != storage.url and "storage.url" not in project.above:
        remedy = "keep it in the environment, as PGPASSWORD or in FOLKMOOT_STORAGE_URL"
        wrong(f"`storage.url` holds a password; {remedy}", "url")
    if storage.project is None:
        remedy = "the name of this project there: the same on every host, and another for every other project"
        wrong(f"`storage.url` needs `storage.project`, {remedy}", "url")


def _check_provider(name: str, provider: Provider, root: Path, wrong: Report) -> None:
    if not _PROVIDER.fullmatch(name):
        wrong(f"a provider cannot be called {short(name)}; use A-Z a-z 0-9 . _ -")
    for header in provider.headers:
        if header.lower() in _SECRET_HEADERS:
            remedy = "name its variable with `apiKeyEnv` instead"
            wrong(f"the header {short(header)} would hold a secret; {remedy}", "headers", header)
    if provider.kind == "a2a":
        wrong("a remote agent is an agent file with `remote: {url: …}`, and no provider", "kind")
    if (provider.kind == "pydantic-ai") != bool(provider.provider):
        wrong(
            "`kind: pydantic-ai` needs `provider`, its name there, such as `google` or `mistral`;"
            " no other kind has one",
            *(["provider"] if provider.provider else []),
        )
    if provider.kind == "scripted":
        _check_file(name, provider.script, "script", root, wrong)
    elif provider.script is not None:
        wrong("`script` goes only with `kind: scripted`", "script")


def _check_tools(name: str, source: ToolSource, root: Path, wrong: Report) -> None:
    if not _SOURCE.fullmatch(name) or name in _OWN_NAMES:
        remedy = f"use A-Z a-z 0-9 _ - (at most 40), none of {', '.join(sorted(_OWN_NAMES))}"
        wrong(f"a source of tools cannot be called {short(name)}; {remedy}")
    if source.kind == "mcp":
        _check_server(name, source, wrong)
    else:
        _check_file(name, source.module, "module", root, wrong)


def _check_server(name: str, source: ToolSource, wrong: Report) -> None:
    if bool(source.command) == bool(source.url):
        wrong(f"{short(name)} needs either `command`, a list of words, or `url`")
    for key, other in (("env", "command"), ("cwd", "command"), ("headers", "url")):
        if getattr(source, key) and not getattr(source, other):
            wrong(f"`{key}` goes only with `{other}`", key)
    if source.cwd and not _stays_inside(source.cwd):
        wrong("`cwd` must be a folder of the project", "cwd")
    for header, text in source.headers.items():
        if header.lower() in _SECRET_HEADERS and "${" not in text:
            remedy = "write ${NAME} for an environment variable"
            wrong(f"the header {short(header)} would hold a secret; {remedy}", "headers", header)


def _stays_inside(path: str) -> bool:
    return not PurePosixPath(path).is_absolute() and ".." not in PurePosixPath(path).parts


def _check_file(name: str, path: str | None, key: str, root: Path, wrong: Report) -> None:
    if path is None:
        wrong(f"{short(name)} needs `{key}`, a file of the project")
        return
    try:
        inside(root, "", path)
    except Misplaced as error:
        wrong(f"the {key} {short(path)} {error}", key)


def check_rules(project: ProjectSettings, agents: Collection[str] | None, findings: Findings) -> None:
    """`agents` are the ids and files of all agents; None if not all were read."""
    node = find(project.node, ("rules",))
    for number, item in enumerate(node.items if isinstance(node, ListNode) else ()):
        # Read once more, because a list with one wrong rule in it counts as none.
        rule = walk(item, definition(Rule), "", Findings())
        if rule is not WRONG:
            _check_rule(project, ("rules", number), rule, agents, findings)


def _check_rule(
    project: ProjectSettings, at: Keys, rule: Rule, agents: Collection[str] | None, findings: Findings
) -> None:
    wrong = findings.reporter(project.at, *at)
    if rule.decision == "allow" and not (
        rule.arguments or "hash" in keys(project.node, at) or rule.access == "read"
    ):
        wrong(
            "a rule allows by arguments, never by a tool's name alone; say what `arguments` must be, "
            "or `access: read` for tools that only read",
            "decision",
        )
    known = {*(agents or ()), _MADE_UP}
    if agents is not None and not any(fnmatchcase(name, rule.agent) for name in known):
        wrong(f"no agent fits {short(rule.agent)}{near(rule.agent, known)}", "agent")
    for alias, name in ALIASES.items():
        meant = rule.tool in (alias, name) or fnmatchcase(wire_name(name), wire_glob(rule.tool))
        if not meant and fnmatchcase(alias, rule.tool):
            message = f"the pattern {short(rule.tool)} does not fit {name!r}, for which {alias!r} is short"
            findings.warning(project.at(*at, "tool"), message)
    for path, match in rule.arguments.items():
        if fault := _fault_of_match(match):
            wrong(f"`{path}` {fault}", "arguments", path)


def _fault_of_match(match: Match) -> str:
    texts = {name: getattr(match, name) for name in ("glob", "regex", "under", "host")}
    given = [name for name, text in texts.items() if text is not None]
    if len(given) + (match.equals is not UNSET) != 1:
        return "needs exactly one of equals, glob, regex, under, host"
    if given and not texts[given[0]]:
        return f"must not have an empty `{given[0]}`"
    if fault := regex.fault(match.regex or ""):
        return f"has a `regex` that {fault}; write two rules, or `glob`, `under` or `host`"
    if match.host is not None and re.search(r"[/@:\s]", match.host):
        return "needs a `host` alone, such as `*.example.com`, without scheme, port or path"
    return ""


def check_sinks(project: ProjectSettings, agents: Collection[str] | None, findings: Findings) -> None:
    """`agents` are the ids of all agents; None if not all were read."""
    files: dict[str, str] = {}
    for name, sink in project.settings.sinks.items():
        wrong = findings.reporter(project.at, "sinks", name)
        if not _SOURCE.fullmatch(name):
            wrong(f"a sink cannot be called {short(name)}; use A-Z a-z 0-9 _ -, at most 40")
        for key in keys(project.node, ("sinks", name)):
            if key in _SINK_KEYS and sink.kind not in _SINK_KEYS[key]:
                wrong(f"`{key}` does not go with `kind: {sink.kind}`{_instead(key, sink)}", key)
        _check_address(name, sink, wrong)
        _check_filter(sink, agents, wrong)
        if sink.kind == "ndjson" and (other := files.setdefault(sink.file, name)) != name:
            wrong(f"{short(name)} and {short(other)} would write to the same file; give one another `path`")


def _instead(key: str, sink: SinkSettings) -> str:
    secret = key == "url" and sink.kind in _SINK_KEYS["urlEnv"]
    return ": its address is a secret; name the variable that holds it with `urlEnv`" if secret else ""


def _check_address(name: str, sink: SinkSettings, wrong: Report) -> None:
    if sink.kind == "ndjson":
        if not _stays_inside(sink.file) or PurePosixPath(sink.file).suffix != ".ndjson":
            wrong("`path` must be a file of the project whose name ends in .ndjson", "path")
    elif sink.kind == "otel":
        if sink.url and sink.url_env:
            wrong("the address stands in `url` or in the variable that `urlEnv` names, not in both", "urlEnv")
        if sink.trace_url and TRACE_ID not in sink.trace_url:
            wrong(f"`traceUrl` must have {TRACE_ID} where the id of a trace stands", "traceUrl")
    elif sink.kind == "webhook" and (sink.url is None) == (sink.url_env is None):
        wrong(f"{short(name)} needs either `url`, or `urlEnv` with the variable that holds it")
    elif sink.kind != "webhook" and sink.url_env is None:
        wrong(f"{short(name)} needs `urlEnv`, the variable that holds the address of the Discord webhook")
    url = urlsplit(sink.url or "")
    if url.scheme == "http" and url.hostname not in LOOPBACK:
        wrong("`url` must begin with https:// to leave this machine", "url")
    if sink.kind == "discord" and sink.most > _MOST_EMBEDS:
        wrong(f"Discord takes at most {_MOST_EMBEDS} at once", "batch")


def _check_filter(sink: SinkSettings, agents: Collection[str] | None, wrong: Report) -> None:
    for number, pattern in enumerate(sink.events):
        if not any(SinkSettings(sink.kind, (pattern,)).wants(type) for type in EVENTS):
            wrong(f"no event fits {short(pattern)}{near(pattern, EVENTS)}", "events", number)
    for number, agent in enumerate(sink.agents if agents is not None else ()):
        if agent not in (agents or ()):
            wrong(f"there is no agent {short(agent)}{near(agent, agents or ())}", "agents", number)
