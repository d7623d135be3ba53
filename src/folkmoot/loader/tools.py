"""The names of an agent's tools: each is known, and no two are the same on the wire."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec.structs import replace

from folkmoot.domain.naming import (
    BUILT_IN,
    BUILT_IN_SOURCES,
    COORDINATION,
    GROUPS,
    QUESTIONS,
    agent_tool,
    canonical_tool,
    wire_name,
)
from folkmoot.domain.report import FINAL_REPORT, ROUTE
from folkmoot.domain.settings import Settings
from folkmoot.loader.draft import Draft
from folkmoot.loader.findings import Findings, Place
from folkmoot.loader.hints import near, short
from folkmoot.loader.nodes import keys
from folkmoot.loader.options import Project

_RUNTIME = frozenset((*QUESTIONS, *BUILT_IN, *BUILT_IN_SOURCES, *GROUPS, *COORDINATION))
RESERVED = {
    FINAL_REPORT: "the final report",
    ROUTE: "the router",
    **dict.fromkeys(
        "agent__task_status agent__batch agent__ask_clarification team__broadcast team__dm "
        "team__request_help artifact__read call_agent call_agents_parallel".split(),
        "the runtime",
    ),
}


def canonical_settings(settings: Settings, own: Collection[str]) -> Settings:
    """With tools of ours by their own names."""
    calling = settings.orchestration
    listed = calling.sub_agent_tool_allowlist
    allowed = None if listed is None else tuple(canonical_tool(name, own) for name in listed)
    return replace(
        settings,
        rules=tuple(replace(rule, tool=canonical_tool(rule.tool, own)) for rule in settings.rules),
        orchestration=replace(calling, sub_agent_tool_allowlist=allowed),
    )


def check_tools(
    draft: Draft,
    drafts: Mapping[str, Draft],
    project: Project,
    given: Collection[str],
    findings: Findings,
) -> None:
    """`given` are the tools that Python brings, by their names in files."""
    sources = keys(project.node, ("tools",))
    for number, name in enumerate(draft.declared.tools if project.readable else ()):
        if name in _RUNTIME:
            if name in {*given, *sources}:
                message = f"{short(name)} is a tool of the runtime; give yours another name"
                findings.error(draft.at("tools", number), message)
        elif name not in given and name.partition(".")[0] not in sources and not _below(name, given):
            hint = (
                near(name, {*sources, *given, *_RUNTIME})
                or "; declare it under `tools` in folkmoot.yaml or give it from Python"
            )
            findings.error(
                draft.at("tools", number), f"there is no tool {short(name)}{hint}", "tool_not_found"
            )
    _check_folder(draft, findings)
    seen = dict(RESERVED)
    for wire, called, place in _on_the_wire(draft, drafts, given):
        if before := seen.get(wire):
            message = f"{called} is called {wire!r} by the model, and so is {before}"
            findings.error(place, f"{message}; rename one of them, or take one out")
        seen[wire] = called


def _check_folder(draft: Draft, findings: Findings) -> None:
    folder = draft.declared.work_dir
    if folder.startswith(("/", "~")) or {"..", ".folkmoot", ".git"} & {*folder.split("/")}:
        message = f"`workDir` cannot be {short(folder)}; name a folder inside the project, relative to it"
        findings.error(draft.at("workDir"), message)


def _on_the_wire(
    draft: Draft, drafts: Mapping[str, Draft], given: Collection[str]
) -> Iterator[tuple[str, str, Place]]:
    """Every tool by the name the model uses. What a module holds is known only when it is imported."""
    for number, name in enumerate(draft.declared.tools):
        for each in GROUPS.get(name) or sorted(_below(name, {*given, *BUILT_IN})) or (name,):
            yield wire_name(each), f"the tool {short(each)}", draft.at("tools", number)
    for link in draft.links:
        if link.pattern == "agent" and (target := drafts.get(link.to)):
            name = target.declared.tool_name or target.id
            yield agent_tool(name), f"the agent {short(link.to)}", link.place


def _below(name: str, given: Collection[str]) -> list[str]:
    """All tools of the source `name` that Python gave."""
    return [each for each in given if each.startswith(f"{name}.")]
