"""One agent file as far as it can be understood alone: what it declares, its prompt, whom it refers to, its schemas."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import unquote

from msgspec.structs import replace

from folkmoot.domain.agent import Frontmatter, Input, Output, Pattern
from folkmoot.loader.document import MapNode, Node, Scalar, compose, data, find, place_of
from folkmoot.loader.document import Path as Keys
from folkmoot.loader.files import Misplaced, Missing, inside, read_text
from folkmoot.loader.findings import Findings, Location, near, short
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


IO = TypeVar("IO", Input, Output)


def settled(
    side: IO, key: Literal["input", "output"], root: Path, draft: AgentDraft, findings: Findings
) -> IO:
    """With the schema that `schemaRef` names, unless one stands in the file itself; and with a sound one."""
    node = find(draft.root, (key, "schema"))
    if side.schema is None and side.schema_ref is not None:
        node = _referred(side.schema_ref, key, root, draft, findings)
        side = replace(side, schema=data(node) if isinstance(node, MapNode) else None)
    if side.schema is None or node is None:
        return side
    if side.format != "json":
        findings.warning(draft.at(key), f"`{key}.schema` has no effect without `format: json`")
    _check(side.schema, node, findings)
    return side


def _referred(path: str, key: str, root: Path, draft: AgentDraft, findings: Findings) -> Node | None:
    try:
        file = inside(root, draft.folder, path)
    except Misplaced as error:
        findings.error(draft.at(key, "schemaRef"), f"the schema {short(path)} {error}")
        return None
    text = read_text(root, file, findings)
    node = None if text is None else compose(text, Location(file), findings)
    if node is not None and not isinstance(node, MapNode):
        findings.error(node.place, "a JSON Schema must be a mapping")
    return node


def _check(schema: dict[str, Any], node: Node, findings: Findings) -> None:
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = place_of(node, tuple(error.absolute_path))
        findings.error(place, f"this is no JSON Schema (draft 2020-12): {error.message[:200]}", "bad_schema")
        return
    targets = {"#"} | {f"#{name}" for _, name in _values(schema, ("$anchor", "$dynamicAnchor"))}
    for path, reference in _values(schema, ("$ref", "$dynamicRef")):
        if reference not in targets and not _points_at_something(schema, reference):
            message = f"{short(reference)} is no part of this schema, and nothing is ever fetched"
            findings.error(place_of(node, path), f"{message}; put it under `$defs` and write '#/$defs/…'")


def _values(value: Any, keys: tuple[str, ...], path: Keys = ()) -> Iterator[tuple[Keys, str]]:
    """All strings under one of `keys`, at any depth, each with its path."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if key in keys and isinstance(item, str):
                yield (*path, key), item
            yield from _values(item, keys, (*path, key))


def _points_at_something(schema: Any, reference: str) -> bool:
    """Whether a JSON Pointer such as `#/$defs/name` leads to a schema."""
    start, *steps = unquote(reference).split("/")
    for step in steps:
        match schema:
            case dict():
                schema = schema.get(step.replace("~1", "/").replace("~0", "~"))
            case list() if step.isdecimal() and int(step) < len(schema):
                schema = schema[int(step)]
            case _:
                return False
    return start == "#" and isinstance(schema, dict | bool)
