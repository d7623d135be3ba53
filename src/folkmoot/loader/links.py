"""What must hold between agents: none waits for itself, names are clear, what one gives fits the next."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec import UNSET

from folkmoot.domain import naming
from folkmoot.domain.agent import Pattern
from folkmoot.domain.naming import agent_tool, wire_name
from folkmoot.domain.report import FINAL_REPORT, ROUTE
from folkmoot.loader.agent_file import CALLED, AgentDraft, Link
from folkmoot.loader.document import keys
from folkmoot.loader.findings import Findings, Location, near, short
from folkmoot.loader.options import ProjectSettings

Drafts = Mapping[str, AgentDraft]

_ONE_ID_EACH: tuple[Pattern, ...] = ("advisor", "route", "member")
"""Here an agent is called by its id: in the answer of a router, in a block of a prompt, in a broadcast."""


def check_links(drafts: Drafts, findings: Findings, *, calling: bool = False) -> None:
    """`calling`: agents may call agents that no file names, so that nobody is unreachable."""
    for draft in drafts.values():
        _check_names(draft, findings)
        _check_parts(draft, findings)
        _check_team(draft, drafts, findings)
    if order := _in_order(drafts, findings):
        _check_formats(drafts, order, findings)
        for draft in drafts.values() if findings.sound else ():
            _check_seats(draft, drafts, findings)
    if findings.sound and not calling:
        _warn_of_strangers(drafts, findings)


def _check_names(draft: AgentDraft, findings: Findings) -> None:
    for pattern in _ONE_ID_EACH:
        seen: dict[str, str] = {}
        for link in draft.links:
            if link.pattern != pattern:
                continue
            id = _id(link.to)
            if before := seen.get(id):
                message = f"two {CALLED[pattern]}s have the id {id!r}: {before!r} and {link.to!r}"
                findings.error(link.place, f"{message}; keep one, or rename a file")
            seen[id] = link.to


def _check_parts(draft: AgentDraft, findings: Findings) -> None:
    """Work in parts leaves no one conversation: there is nothing for a team to share, or for a caller to go on with."""
    said = draft.declared
    if said.split == "never":
        return
    wrong = findings.reporter(draft.at)
    if said.team is not None:
        wrong("a team has no session of its own to split; take `split` or `team` out", "split")
    if said.planning_strategy not in (UNSET, "native_react"):
        wrong("`split` plans in its own way; take it or `planningStrategy` out", "planningStrategy")
    if said.chat:
        why = "there is no one conversation to go on with; take one out"
        findings.warning(draft.at("chat"), f"`chat` has no effect with `split`: {why}")


def _id(file: str) -> str:
    return file.rpartition("/")[2].removesuffix(".ai")


def _check_team(draft: AgentDraft, drafts: Drafts, findings: Findings) -> None:
    for member in draft.files("member"):
        if member in draft.files("lead"):
            message = f"{member!r} is a member of this team too; take one out"
            findings.error(draft.at("team", "supervisor"), message)
        if member in drafts and drafts[member].declared.handoff is not None:
            findings.error(
                drafts[member].at("handoff"),
                f"this agent is a member of the team of {draft.file!r}; a member has no answer to hand off: "
                f"take `handoff` out, or put it into {draft.file!r}",
            )


def _check_seats(draft: AgentDraft, drafts: Drafts, findings: Findings) -> None:
    """No two that broadcast have one id; who leads a team does nothing else with it than lead it."""
    leads = draft.files("lead") or ((draft.file,) if draft.declared.team else ())
    for member in draft.files("member"):
        if _id(member) in map(_id, leads):
            message = f"{member!r} has the id of its lead, {_id(member)!r}, under which both broadcast"
            findings.error(draft.at("team", "members"), f"{message}; rename one of the files")
    for lead in draft.files("lead"):
        if drafts[lead].declared.team is not None:
            message = f"this agent leads the team of {draft.file!r}; it cannot have another: take one out"
            findings.error(drafts[lead].at("team"), message)
        if draft.declared.router is not None:
            message = f"{lead!r} leads this team, so that only it could choose: put `router` there"
            findings.error(draft.at("router"), message)


def _warn_of_strangers(drafts: Drafts, findings: Findings) -> None:
    """An agent on its own in a project whose others work together is often a forgotten reference."""
    met = {file for draft in drafts.values() for link in draft.links for file in (draft.file, link.to)}
    message = "unreachable: no agent refers to this file, so that it runs only when you name it"
    for file in drafts if met else ():
        if file not in met:
            findings.warning(Location(file), message)


def _in_order(drafts: Drafts, findings: Findings) -> list[str] | None:
    """Every agent after all that it refers to; None after reporting those that wait for themselves."""
    order: dict[str, None] = {}
    sound = True
    for start in drafts:
        path = {start: iter(drafts[start].links)} if start not in order else {}
        while path:
            file, links = next(reversed(path.items()))
            link = next(links, None)
            if link is None:
                path.popitem()
                order[file] = None
            elif link.to in path:
                sound = False
                circle = " -> ".join([*path, link.to][list(path).index(link.to) :])
                message = f"agents wait for each other: {circle}; take one of these references out"
                findings.error(link.place, message, "agents_in_a_circle")
            elif link.to in drafts and link.to not in order:
                path[link.to] = iter(drafts[link.to].links)
    return list(order) if sound else None


def _check_formats(drafts: Drafts, order: list[str], findings: Findings) -> None:
    """A handoff passes an answer on; every other pattern passes the request on as it came."""
    answering: dict[str, set[str]] = {}
    for file in order:
        draft = drafts[file]
        answers = {file} if not draft.files("lead") else set()
        for link in draft.links:
            if link.pattern in ("lead", "route"):
                answers |= answering.get(link.to, set())
        handoff = next((link for link in draft.links if link.pattern == "handoff"), None)
        answering[file] = answers if handoff is None else answering.get(handoff.to, set())
        for link in draft.links:
            if link.to not in drafts or drafts[link.to].declared.input.format != "json":
                continue
            if link.pattern == "handoff":
                _check_answers(answers, drafts, link, findings)
            elif link.pattern != "agent" and draft.declared.input.format != "json":
                message = f"the request that it gets from {file!r} is text; make the two `input.format` alike"
                findings.error(link.place, f"{_expects_json(link)}, but {message}")


def _check_answers(answers: set[str], drafts: Drafts, link: Link, findings: Findings) -> None:
    for file in sorted(answers):
        if (format := drafts[file].declared.output.format) != "json":
            remedy = f"give {file!r} `output.format: json`, or {link.to!r} another input"
            message = f"{_expects_json(link)}, but {file!r} before it answers in {format}; {remedy}"
            findings.error(link.place, message)


def _expects_json(link: Link) -> str:
    return f"{link.to!r} expects JSON (`input.format: json`)"


_RUNTIME = frozenset(
    (*naming.QUESTIONS, *naming.BUILT_IN, *naming.BUILT_IN_SOURCES, *naming.GROUPS, *naming.COORDINATION)
)
RESERVED = {
    FINAL_REPORT: "the final report",
    ROUTE: "the router",
    **dict.fromkeys(
        "agent__task_status agent__batch agent__ask_clarification team__broadcast team__dm "
        "team__request_help artifact__read call_agent call_agents_parallel".split(),
        "the runtime",
    ),
}


def check_tools(
    draft: AgentDraft, drafts: Drafts, project: ProjectSettings, given: Collection[str], findings: Findings
) -> None:
    """`given` are the tools that Python brings, by their names in files."""
    sources = keys(project.node, ("tools",))
    for number, name in enumerate(draft.declared.tools if project.readable else ()):
        if name in _RUNTIME:
            if name in {*given, *sources}:
                message = f"{short(name)} is a tool of the runtime; give yours another name"
                findings.error(draft.at("tools", number), message)
        elif name not in given and name.partition(".")[0] not in sources and not _below(name, given):
            declare = "; declare it under `tools` in folkmoot.yaml or give it from Python"
            message = f"there is no tool {short(name)}{near(name, {*sources, *given, *_RUNTIME}) or declare}"
            findings.error(draft.at("tools", number), message, "tool_not_found")
    folder = draft.declared.work_dir
    if folder.startswith(("/", "~")) or {"..", ".folkmoot", ".git"} & {*folder.split("/")}:
        message = f"`workDir` cannot be {short(folder)}; name a folder inside the project, relative to it"
        findings.error(draft.at("workDir"), message)
    seen = dict(RESERVED)
    for wire, called, place in _on_the_wire(draft, drafts, given):
        if before := seen.get(wire):
            message = f"{called} is called {wire!r} by the model, and so is {before}"
            findings.error(place, f"{message}; rename one of them, or take one out")
        seen[wire] = called


def _on_the_wire(
    draft: AgentDraft, drafts: Drafts, given: Collection[str]
) -> Iterator[tuple[str, str, Location]]:
    """Every tool by the name the model uses. What a module holds is known only when it is imported."""
    for number, name in enumerate(draft.declared.tools):
        for each in naming.GROUPS.get(name) or sorted(_below(name, {*given, *naming.BUILT_IN})) or (name,):
            yield wire_name(each), f"the tool {short(each)}", draft.at("tools", number)
    for link in draft.links:
        if link.pattern == "agent" and (target := drafts.get(link.to)):
            name = target.declared.tool_name or target.id
            yield agent_tool(name), f"the agent {short(link.to)}", link.place


def _below(name: str, given: Collection[str]) -> list[str]:
    """All tools of the source `name` that Python gave."""
    return [each for each in given if each.startswith(f"{name}.")]
