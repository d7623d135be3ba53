"""The rules of `folkmoot.yaml`: each can be understood, means some agent, and allows nothing by a name alone."""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import fnmatchcase

from msgspec import UNSET

from folkmoot.domain import regex
from folkmoot.domain.naming import ALIASES, wire_glob, wire_name
from folkmoot.domain.rules import Match, Rule
from folkmoot.loader.findings import Findings
from folkmoot.loader.hints import near, short
from folkmoot.loader.nodes import ListNode, Path, find, keys, place_of
from folkmoot.loader.options import Project
from folkmoot.loader.plain import WRONG
from folkmoot.loader.walk import definition, walk

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MADE_UP = "custom"
"""The id of agents that are made at run time."""


def check_rules(project: Project, agents: Collection[str] | None, findings: Findings) -> None:
    """`agents` are the ids and files of all agents; None if not all were read."""
    node = find(project.node, ("rules",))
    for number, item in enumerate(node.items if isinstance(node, ListNode) else ()):
        # Read once more, because a list with one wrong rule in it counts as none.
        rule = walk(item, definition(Rule), "", Findings())
        if rule is not WRONG:
            _check_rule(project, ("rules", number), rule, agents, findings)
    for number, name in enumerate(project.settings.secrets):
        if not _VARIABLE.fullmatch(name):
            message = (
                "`secrets` must list names of environment variables; a secret itself never stands in a file"
            )
            findings.error(place_of(project.node, ("secrets", number)), message)


def _check_rule(
    project: Project, at: Path, rule: Rule, agents: Collection[str] | None, findings: Findings
) -> None:
    bound = rule.arguments or "hash" in keys(project.node, at) or rule.access == "read"
    if rule.decision == "allow" and not bound:
        findings.error(
            place_of(project.node, (*at, "decision")),
            "a rule allows by arguments, never by a tool's name alone; say what `arguments` must be, "
            "or `access: read` for tools that only read",
        )
    known = {*(agents or ()), _MADE_UP}
    if agents is not None and not any(fnmatchcase(name, rule.agent) for name in known):
        message = f"no agent fits {short(rule.agent)}{near(rule.agent, known)}"
        findings.error(place_of(project.node, (*at, "agent")), message)
    for alias, name in ALIASES.items():
        meant = rule.tool in (alias, name) or fnmatchcase(wire_name(name), wire_glob(rule.tool))
        if not meant and fnmatchcase(alias, rule.tool):
            message = f"the pattern {short(rule.tool)} does not fit {name!r}, for which {alias!r} is short"
            findings.warning(place_of(project.node, (*at, "tool")), message)
    for path, match in rule.arguments.items():
        if fault := _fault(match):
            findings.error(place_of(project.node, (*at, "arguments", path)), f"`{path}` {fault}")


def _fault(match: Match) -> str:
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
