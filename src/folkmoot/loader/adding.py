"""Put a rule into `folkmoot.yaml` at a person's word, before all others; the rest of the file stays as it is."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from folkmoot.domain.inbox import Item
from folkmoot.domain.message import canonical, visible
from folkmoot.domain.rules import Rule
from folkmoot.domain.settings import Settings
from folkmoot.errors import WrongUse
from folkmoot.loader.compose import compose
from folkmoot.loader.files import SETTINGS
from folkmoot.loader.findings import Findings, Location
from folkmoot.loader.nodes import ListNode, find
from folkmoot.loader.walk import declared


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
    lines = text.splitlines()
    node = find(compose(text, Location(SETTINGS), Findings()) or ListNode(Location(SETTINGS), ()), ("rules",))
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
