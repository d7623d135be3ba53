"""What must hold between agents: none waits for itself, names are clear, what one gives fits the next."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET

from folkmoot.domain.agent import Pattern
from folkmoot.loader.draft import CALLED, Draft, Link
from folkmoot.loader.findings import Findings, Place

Drafts = Mapping[str, Draft]

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


def _check_names(draft: Draft, findings: Findings) -> None:
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


def _check_parts(draft: Draft, findings: Findings) -> None:
    """Work in parts leaves no one conversation: there is nothing for a team to share, or for a caller to go on with."""
    said = draft.declared
    if said.split == "never":
        return
    if said.team is not None:
        findings.error(
            draft.at("split"), "a team has no session of its own to split; take `split` or `team` out"
        )
    if said.planning_strategy not in (UNSET, "native_react"):
        message = "`split` plans in its own way; take it or `planningStrategy` out"
        findings.error(draft.at("planningStrategy"), message)
    if said.chat:
        message = (
            "`chat` has no effect with `split`: there is no one conversation to go on with; take one out"
        )
        findings.warning(draft.at("chat"), message)


def _id(file: str) -> str:
    return file.rpartition("/")[2].removesuffix(".ai")


def _check_team(draft: Draft, drafts: Drafts, findings: Findings) -> None:
    for member in draft.files("member"):
        if member in draft.files("lead"):
            findings.error(
                draft.at("team", "supervisor"), f"{member!r} is a member of this team too; take one out"
            )
        if member in drafts and drafts[member].declared.handoff is not None:
            findings.error(
                drafts[member].at("handoff"),
                f"this agent is a member of the team of {draft.file!r}; a member has no answer to hand off: "
                f"take `handoff` out, or put it into {draft.file!r}",
            )


def _check_seats(draft: Draft, drafts: Drafts, findings: Findings) -> None:
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
    for file in drafts if met else ():
        if file not in met:
            findings.warning(
                Place(file),
                "unreachable: no agent refers to this file, so that it runs only when you name it",
            )


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
                _report_cycle([*path, link.to], link, findings)
            elif link.to in drafts and link.to not in order:
                path[link.to] = iter(drafts[link.to].links)
    return list(order) if sound else None


def _report_cycle(path: list[str], link: Link, findings: Findings) -> None:
    circle = " -> ".join(path[path.index(link.to) :])
    findings.error(
        link.place,
        f"agents wait for each other: {circle}; take one of these references out",
        "agents_in_a_circle",
    )


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
                message = (
                    f"{link.to!r} expects JSON (`input.format: json`), but the request that it gets from"
                )
                findings.error(link.place, f"{message} {file!r} is text; make the two `input.format` alike")


def _check_answers(answers: set[str], drafts: Drafts, link: Link, findings: Findings) -> None:
    for file in sorted(answers):
        if (format := drafts[file].declared.output.format) != "json":
            message = (
                f"{link.to!r} expects JSON (`input.format: json`), but {file!r} before it answers in {format}"
            )
            findings.error(
                link.place, f"{message}; give {file!r} `output.format: json`, or {link.to!r} another input"
            )
