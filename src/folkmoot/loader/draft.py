"""One agent file as far as it can be understood alone: what it declares, its prompt, whom it refers to."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from folkmoot.domain.agent import Frontmatter, Pattern
from folkmoot.loader.compose import compose
from folkmoot.loader.files import Misplaced, Missing, inside, read_text
from folkmoot.loader.findings import Findings, Location, near, short
from folkmoot.loader.nodes import Node, Scalar, place_of
from folkmoot.loader.walk import declared

SUFFIX = ".ai"
CALLED: dict[Pattern, str] = {
    "advisor": "advisor",
    "agent": "agent",
    "member": "member",
    "lead": "supervisor",
    "route": "destination",
    "handoff": "handoff",
}
"""The words for the patterns in messages."""
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Link(NamedTuple):
    """A reference to another agent file that leads to one."""

    pattern: Pattern
    to: str
    place: Location


class AgentDraft(NamedTuple):
    file: str
    id: str
    root: Node
    declared: Frontmatter
    prompt: str
    links: tuple[Link, ...]

    @property
    def folder(self) -> str:
        return str(PurePosixPath(self.file).parent)

    def at(self, *path: str | int) -> Location:
        """Where a key of the declaration stands, or the nearest thing around it."""
        return place_of(self.root, path)

    def files(self, pattern: Pattern) -> tuple[str, ...]:
        return tuple(link.to for link in self.links if link.pattern == pattern)


def read_draft(root: Path, file: str, neighbours: Collection[str], findings: Findings) -> AgentDraft | None:
    """None after saying why it cannot be understood at all. `neighbours`: what a reference may have meant."""
    name = PurePosixPath(file).name
    id = name.removesuffix(SUFFIX)
    if not name.endswith(SUFFIX) or not _ID.fullmatch(id) or not file.isprintable():
        message = f"{short(file)} is no agent's name; use A-Z a-z 0-9 . _ - (at most 64) and `.ai`"
        findings.error(Location(file), message)
    text = read_text(root, file, findings)
    parts = None if text is None else split(text, file, findings)
    node = None if parts is None else compose(parts.declaration, parts.start, findings)
    if parts is None or node is None:
        return None
    draft = AgentDraft(file, id, node, declared(node, Frontmatter, findings), parts.prompt, ())
    if not parts.prompt and draft.declared.remote is None:
        nothing = isinstance(node, Scalar) and node.value is None
        report = findings.error if nothing else findings.warning
        report(Location(file), "the agent has no prompt; write below the second `---` what it shall do")
    return draft._replace(links=tuple(_links(root, draft, neighbours, findings)))


def _links(root: Path, draft: AgentDraft, neighbours: Collection[str], findings: Findings) -> Iterator[Link]:
    for pattern, reference, place in _references(draft):
        try:
            to = _resolved(root, draft.folder, reference)
        except Misplaced as error:
            hint = (
                near(reference, _as_seen_from(draft.folder, neighbours)) if isinstance(error, Missing) else ""
            )
            findings.error(place, f"the {CALLED[pattern]} {short(reference)} {error}{hint}")
            continue
        if not (pattern == "lead" and to == draft.file):
            yield Link(pattern, to, place)


def _references(draft: AgentDraft) -> Iterator[tuple[Pattern, str, Location]]:
    """Every reference with its place, in the order in which the agents would start."""
    declared, team = draft.declared, draft.declared.team
    listed: tuple[tuple[Pattern, tuple[str, ...], tuple[str, ...]], ...] = (
        ("advisor", declared.advisors, ("advisors",)),
        ("agent", declared.agents, ("agents",)),
        ("member", team.members if team else (), ("team", "members")),
        ("route", declared.router.destinations if declared.router else (), ("router", "destinations")),
    )
    for pattern, references, path in listed:
        for number, reference in enumerate(references):
            yield pattern, reference, draft.at(*path, number)
    if team and team.supervisor is not None:
        yield "lead", team.supervisor, draft.at("team", "supervisor")
    if declared.handoff is not None:
        yield "handoff", declared.handoff, draft.at("handoff")


def _resolved(root: Path, folder: str, reference: str) -> str:
    if reference and not reference.endswith(SUFFIX):
        raise Misplaced(f"lacks the ending `.ai`; write {short(reference + SUFFIX)}")
    return inside(root, folder, reference)


def _as_seen_from(folder: str, files: Collection[str]) -> list[str]:
    """Agent files as a file of `folder` would write them; those that need `..` are left out."""
    prefix = "" if folder == "." else f"{folder}/"
    return [file.removeprefix(prefix) for file in files if file.startswith(prefix)]


_FENCE = "---"


class Parts(NamedTuple):
    declaration: str
    start: Location
    """Where the declaration begins."""
    prompt: str


def split(text: str, file: str, findings: Findings) -> Parts | None:
    """None after saying what is wrong."""
    lines = text.split("\n")
    opening = 1 if lines[0].startswith("#!") else 0
    while opening < len(lines) and not lines[opening].strip():
        opening += 1
    if opening == len(lines) or lines[opening].rstrip() != _FENCE:
        findings.error(
            Location(file, min(opening + 1, len(lines))),
            "the frontmatter is missing; an agent file begins with a line `---`, its keys such as "
            "`description: …`, and another line `---`; then comes the prompt",
            "bad_frontmatter",
        )
        return None
    closing = next((n for n in range(opening + 1, len(lines)) if lines[n].rstrip() == _FENCE), None)
    if closing is None:
        message = "this `---` is never closed; put a line `---` before the prompt"
        findings.error(Location(file, opening + 1), message, "bad_frontmatter")
        return None
    declaration = "\n".join(lines[opening + 1 : closing])
    prompt = "\n".join(lines[closing + 1 :]).replace("\r\n", "\n").strip()
    return Parts(declaration, Location(file, opening + 2), prompt)
