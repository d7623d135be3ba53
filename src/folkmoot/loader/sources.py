"""What `folkmoot.yaml` says about the outside: providers of models and sources of tools."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

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
_OWN_NAMES = frozenset(("agent", "router", "team", "artifact"))


def check_sources(root: Path, project: Project, findings: Findings) -> None:
    for name, provider in project.settings.providers.items():
        _check_provider(name, provider, root, project.node, findings)
    for name, source in project.settings.tools.items():
        _check_tools(name, source, root, project.node, findings)
    if fault := _fault_of_url(project.settings.storage.url, ()):
        findings.error(place_of(project.node, ("storage", "url")), f"`storage.url` {fault}")


def _check_provider(name: str, provider: Provider, root: Path, node: Node, findings: Findings) -> None:
    place = place_of(node, ("providers", name))
    if not _PROVIDER.fullmatch(name):
        findings.error(place, f"a provider cannot be called {short(name)}; use A-Z a-z 0-9 . _ -")
    if fault := _fault_of_url(provider.base_url, ("http", "https")):
        findings.error(place_of(node, ("providers", name, "baseUrl")), f"`baseUrl` {fault}")
    if provider.api_key_env is not None and not _VARIABLE.fullmatch(provider.api_key_env):
        findings.error(
            place_of(node, ("providers", name, "apiKeyEnv")),
            "`apiKeyEnv` must be the name of an environment variable; a key itself never stands in a file",
        )
    for header in provider.headers:
        if header.lower() in _SECRET_HEADERS:
            message = (
                f"the header {short(header)} would hold a secret; name its variable with `apiKeyEnv` instead"
            )
            findings.error(place_of(node, ("providers", name, "headers", header)), message)
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
        findings.error(
            place, f"{short(name)}: MCP servers are not supported by this release; take the entry out"
        )
    else:
        _check_file(source.module, "module", ("tools", name), root, node, findings)


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


def _fault_of_url(url: str | None, schemes: tuple[str, ...]) -> str:
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
