"""`folkmoot.yaml` apart from the project: where the journal lies, and a rule put in at a person's word.

Whatever state the rest of the project is in, its past must stay readable; and without a word about it no YAML is read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from folkmoot.domain.inbox import Item
from folkmoot.domain.message import canonical, visible
from folkmoot.domain.rules import Rule
from folkmoot.domain.settings import Settings, Storage
from folkmoot.errors import WrongUse
from folkmoot.loader.files import SETTINGS
from folkmoot.loader.findings import Findings, Location

_KEY, _VARIABLES = "storage", ("FOLKMOOT_STORAGE_URL", "FOLKMOOT_STORAGE_PROJECT")


def storage_of(folder: Path, env: Mapping[str, str]) -> Storage:
    """Raises `DeclarationError` if what is said about it is wrong; what is said about other things is not looked at."""
    said = {name: env[name] for name in _VARIABLES if name in env}
    file = folder / SETTINGS
    if not said and not (file.is_file() and _KEY.encode() in file.read_bytes()):
        return Storage()
    return _declared(folder.resolve(), said)


def _declared(root: Path, env: Mapping[str, str]) -> Storage:
    from folkmoot.loader.document import MapNode
    from folkmoot.loader.load import settings_node
    from folkmoot.loader.options import ProjectSettings, above_files, settings_with
    from folkmoot.loader.settings import check_storage
    from folkmoot.loader.walk import declared

    findings = Findings()
    node = settings_node(root, findings)
    entries = node.entries if isinstance(node, MapNode) else ()
    only = MapNode(Location(SETTINGS), tuple(entry for entry in entries if entry[0].text == _KEY))
    above = above_files(env, {}, findings)
    project = ProjectSettings(settings_with(declared(only, Settings, findings), above), only, above)
    check_storage(project, findings)
    findings.settle()
    return project.settings.storage


def allow_always(folder: Path, item: Item, by: str) -> Rule:
    """From the next run on, this very call needs no word. Raises `WrongUse` if the file does not take the rule."""
    rule = Rule("allow", tool=item.tool, hash=item.hash, reason=f"always, said {by}")
    file = folder / SETTINGS
    before = file.read_text("utf-8") if file.exists() else ""
    after = _with(before, rule, visible(canonical(item.tool, item.arguments)))
    old, new = _read(before), _read(after) if after else None
    if old is None or new is None or new.rules != (rule, *old.rules):
        raise WrongUse(f"{SETTINGS} does not take the rule by itself; put it there: {_written(rule)}")
    _replace(file, after)
    return rule


def _with(text: str, rule: Rule, call: str) -> str:
    """The rule in front of the first one, or in a list of its own at the end; nothing if that is no list of lines."""
    from folkmoot.loader.document import ListNode, compose, find

    lines = text.splitlines()
    root = compose(text, Location(SETTINGS), Findings())
    node = find(root, ("rules",)) if root else None
    if node is None:
        return "\n".join([*lines, "rules:", f"  # {call}", f"  - {_written(rule)}", ""])
    if not isinstance(node, ListNode) or not node.items:
        return ""
    at = node.items[0].place.line - 1
    indent, dash, _ = lines[at].partition("- ")
    if not dash or indent.strip():
        return ""
    return "\n".join([*lines[:at], f"{indent}# {call}", f"{indent}- {_written(rule)}", *lines[at:], ""])


def _written(rule: Rule) -> str:
    pairs = msgspec.to_builtins(rule).items()
    return "{" + ", ".join(f"{key}: {msgspec.json.encode(value).decode()}" for key, value in pairs) + "}"


def _read(text: str) -> Settings | None:
    from folkmoot.loader.document import compose
    from folkmoot.loader.walk import declared

    findings = Findings()
    node = compose(text, Location(SETTINGS), findings)
    settings = declared(node, Settings, findings) if node else None
    return settings if findings.sound else None


def _replace(file: Path, text: str) -> None:
    """All of it or nothing, whenever the machine stops."""
    beside = file.with_name(f".{file.name}.new")
    with beside.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(file)
