"""The JSON Schemas of what agents expect and report: inline, as text, or in a file of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import unquote

from msgspec.structs import replace

from folkmoot.domain.agent import Input, Output
from folkmoot.loader import nodes
from folkmoot.loader.compose import compose
from folkmoot.loader.draft import AgentDraft
from folkmoot.loader.files import Misplaced, inside, read_text
from folkmoot.loader.findings import Findings, Location, short
from folkmoot.loader.nodes import MapNode, Node, place_of

IO = TypeVar("IO", Input, Output)


def settled(
    side: IO, key: Literal["input", "output"], root: Path, draft: AgentDraft, findings: Findings
) -> IO:
    """With the schema that `schemaRef` names, unless one stands in the file itself; and with a sound one."""
    node = nodes.find(draft.root, (key, "schema"))
    if side.schema is None and side.schema_ref is not None:
        node = _referred(side.schema_ref, key, root, draft, findings)
        side = replace(side, schema=nodes.data(node) if isinstance(node, MapNode) else None)
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


def _values(value: Any, keys: tuple[str, ...], path: nodes.Path = ()) -> Iterator[tuple[nodes.Path, str]]:
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
