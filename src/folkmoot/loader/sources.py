"""What `folkmoot.yaml` says about the outside: providers of models and sources of tools."""

from __future__ import annotations

import re
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from folkmoot.domain.naming import BUILT_IN_SOURCES
from folkmoot.domain.settings import Provider, ToolSource
from folkmoot.loader.files import Misplaced, inside
from folkmoot.loader.findings import Findings
from folkmoot.loader.hints import short
from folkmoot.loader.nodes import Node, place_of
from folkmoot.loader.options import Project

_PROVIDER = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SOURCE = re.compile(r"[A-Za-z0-9_-]{1,40}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_HEADERS = frozenset(("authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"))
_PROJECT = re.compile(r"[a-z0-9][a-z0-9_-]{0,47}")
_OWN_NAMES = BUILT_IN_SOURCES | {"agent", "router", "team", "artifact"}
_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9_-]+(\.[a-z0-9_-]+)*", re.IGNORECASE)


def check_sources(root: Path, project: Project, findings: Findings) -> None:
    for name, provider in project.settings.providers.items():
        _check_provider(name, provider, root, project.node, findings)
    for name, source in project.settings.tools.items():
        _check_tools(name, source, root, project.node, findings)
    _check_builtins(project, findings)
    check_storage(project, findings)


def _check_builtins(project: Project, findings: Findings) -> None:
    builtins = project.settings.builtins
    for number, host in enumerate(builtins.web.allow):
        if not _is_host(host):
            findings.error(
                place_of(project.node, ("builtins", "web", "allow", number)),
                f"{short(host)} is no host, address or network; write `intranet.example`, `10.0.0.7` or `10.0.0.0/8`",
            )
    for tool, limits in (("shell", builtins.shell), ("python", builtins.python)):
        for number, name in enumerate(limits.env):
            if not _VARIABLE.fullmatch(name):
                place = place_of(project.node, ("builtins", tool, "env", number))
                findings.error(
                    place, f"{short(name)} is no name of an environment variable; values never stand here"
                )


def _is_host(host: str) -> bool:
    with suppress(ValueError):
        return bool(ip_network(host, strict=False))
    return bool(_HOST.fullmatch(host)) and not host.replace(".", "").isdigit()


def check_storage(project: Project, findings: Findings) -> None:
    """A file is shared and kept, so it holds no password; the environment may."""
    storage = project.settings.storage
    if storage.project is not None and not _PROJECT.fullmatch(storage.project):
        findings.error(
            place_of(project.node, ("storage", "project")),
            f"`storage.project` cannot be {short(storage.project)}; use a-z 0-9 _ -, at most 48",
            "bad_storage",
        )
    if storage.url is None:
        return
    place = place_of(project.node, ("storage", "url"))
    if not storage.url.startswith(("postgresql://", "postgres://")):
        findings.error(place, "`storage.url` must begin with postgresql://", "bad_storage")
    if storage.shown != storage.url and "storage.url" not in project.above:
        findings.error(
            place,
            "`storage.url` holds a password; keep it in the environment, as PGPASSWORD or in FOLKMOOT_STORAGE_URL",
            "bad_storage",
        )
    if storage.project is None:
        findings.error(
            place,
            "`storage.url` needs `storage.project`, the name of this project there: the same on every host,"
            " and another for every other project",
            "bad_storage",
        )


def _check_provider(name: str, provider: Provider, root: Path, node: Node, findings: Findings) -> None:
    place = place_of(node, ("providers", name))
    if not _PROVIDER.fullmatch(name):
        findings.error(place, f"a provider cannot be called {short(name)}; use A-Z a-z 0-9 . _ -")
    if fault := fault_of_url(provider.base_url, ("http", "https")):
        findings.error(place_of(node, ("providers", name, "baseUrl")), f"`baseUrl` {fault}")
    if fault := fault_of_key(provider.api_key_env):
        findings.error(place_of(node, ("providers", name, "apiKeyEnv")), f"`apiKeyEnv` {fault}")
    for header in provider.headers:
        if header.lower() in _SECRET_HEADERS:
            message = (
                f"the header {short(header)} would hold a secret; name its variable with `apiKeyEnv` instead"
            )
            findings.error(place_of(node, ("providers", name, "headers", header)), message)
    if provider.kind == "a2a":
        message = "a remote agent is an agent file with `remote: {url: …}`, and no provider"
        findings.error(place_of(node, ("providers", name, "kind")), message)
    if (provider.kind == "pydantic-ai") != bool(provider.provider):
        findings.error(
            place_of(node, ("providers", name, "provider")) if provider.provider else place,
            "`kind: pydantic-ai` needs `provider`, its name there, such as `google` or `mistral`;"
            " no other kind has one",
        )
    if provider.kind == "scripted":
        _check_file(provider.script, "script", ("providers", name), root, node, findings)
    elif provider.script is not None:
        findings.error(
            place_of(node, ("providers", name, "script")), "`script` goes only with `kind: scripted`"
        )


def _check_tools(name: str, source: ToolSource, root: Path, node: Node, findings: Findings) -> None:
    place = place_of(node, ("tools", name))
    if not _SOURCE.fullmatch(name) or name in _OWN_NAMES:
        findings.error(
            place,
            f"a source of tools cannot be called {short(name)}; use A-Z a-z 0-9 _ - (at most 40), none of "
            + ", ".join(sorted(_OWN_NAMES)),
        )
    if source.kind == "mcp":
        _check_server(name, source, node, findings)
    else:
        _check_file(source.module, "module", ("tools", name), root, node, findings)


def _check_server(name: str, source: ToolSource, node: Node, findings: Findings) -> None:
    def wrong(message: str, *keys: str) -> None:
        findings.error(place_of(node, ("tools", name, *keys)), message)

    if bool(source.command) == bool(source.url):
        wrong(f"{short(name)} needs either `command`, a list of words, or `url`")
    if fault := fault_of_url(source.url, ("http", "https")):
        wrong(f"`url` {fault}", "url")
    for key, other in (("env", "command"), ("cwd", "command"), ("headers", "url")):
        if getattr(source, key) and not getattr(source, other):
            wrong(f"`{key}` goes only with `{other}`", key)
    if not all(_VARIABLE.fullmatch(variable) for variable in source.env):
        wrong("`env` lists names of environment variables; a value never stands in a file", "env")
    if source.cwd and not _stays_inside(source.cwd):
        wrong("`cwd` must be a folder of the project", "cwd")
    for header, text in source.headers.items():
        if header.lower() in _SECRET_HEADERS and "${" not in text:
            message = (
                f"the header {short(header)} would hold a secret; write ${{NAME}} for an environment variable"
            )
            wrong(message, "headers", header)


def _stays_inside(path: str) -> bool:
    return not PurePosixPath(path).is_absolute() and ".." not in PurePosixPath(path).parts


def _check_file(
    path: str | None, key: str, above: tuple[str, ...], root: Path, node: Node, findings: Findings
) -> None:
    if path is None:
        findings.error(place_of(node, above), f"{short(above[-1])} needs `{key}`, a file of the project")
        return
    try:
        inside(root, "", path)
    except Misplaced as error:
        findings.error(place_of(node, (*above, key)), f"the {key} {short(path)} {error}")


def fault_of_key(variable: str | None) -> str:
    if variable is None or _VARIABLE.fullmatch(variable):
        return ""
    return "must be the name of an environment variable; a key itself never stands in a file"


def fault_of_url(url: str | None, schemes: tuple[str, ...]) -> str:
    """What is wrong, without the address itself: it may hold a secret."""
    try:
        parts = urlsplit(url or "http://absent")
        if parts.password is not None:
            return "holds a password; keep it in the environment"
        if schemes and not (parts.scheme in schemes and parts.hostname):
            return f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)} and name a host"
        _ = parts.port
    except ValueError as error:
        return f"is no address: {error}"
    return ""
