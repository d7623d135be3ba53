"""Put a script into a scenario, in the file that somebody wrote: nothing else in it is changed."""

from __future__ import annotations

import yaml

from folkmoot.errors import OperationFailed, WrongUse
from folkmoot.loader.compose import compose
from folkmoot.loader.findings import Findings, Place
from folkmoot.loader.nodes import ListNode, data, find, meaning
from folkmoot.scenarios.case import Case
from folkmoot.scenarios.recording import Said


def write_script(case: Case, script: Said) -> None:
    """Only the lines of the scenario's script are changed; everything else stays as it was written."""
    text = case.file.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    keys = [(key.text, key.place) for key, _ in case.node.entries]
    column = keys[0][1].column
    if len({place.line for _, place in keys}) < len(keys) or any(p.column != column for _, p in keys):
        raise WrongUse(f"{case.shown}:{case.place.line}: write each key of the scenario on a line of its own")
    begin, end = _room(lines, keys, column)
    dumped = yaml.dump({"script": script}, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=100)
    written = [f"{' ' * (column - 1)}{line}" if line.strip() else line for line in dumped.splitlines(True)]
    if begin and not lines[begin - 1].endswith("\n"):
        lines[begin - 1] += "\n"
    changed = "".join([*lines[:begin], *written, *lines[end:]])
    _check(changed, case, script)
    case.file.write_text(changed, encoding="utf-8")


def _room(lines: list[str], keys: list[tuple[str, Place]], column: int) -> tuple[int, int]:
    """The lines, from 0, that the script has, or shall stand before: `expect`, otherwise the end of the scenario."""
    starts = {name: place.line - 1 for name, place in keys}
    if "script" not in starts:
        begin = starts.get("expect", _end(lines, max(starts.values()), column))
        return begin, begin
    after = [line for line in starts.values() if line > starts["script"]]
    return starts["script"], min(after, default=_end(lines, starts["script"], column))


def _end(lines: list[str], start: int, column: int) -> int:
    """The line behind the scenario: what follows stands further out, or there is nothing more."""
    out = (n for n, line in enumerate(lines) if line.strip() and len(line) - len(line.lstrip()) < column - 1)
    end = next((number for number in out if number > start), len(lines))
    while not lines[end - 1].strip():
        end -= 1
    return end


def _check(text: str, case: Case, script: Said) -> None:
    """Read back before it is written: somebody's file is at stake."""
    read = compose(text, Place(case.shown), Findings())
    listed = find(read, ("scenarios",)) if read else None
    spelt = [data(item) for item in listed.items] if isinstance(listed, ListNode) else []
    if {"name": case.scenario.name, "script": script} not in [
        {"name": each["name"], "script": each.get("script")} for each in spelt
    ]:
        raise OperationFailed(f"{case.shown} could not be changed without harm; nothing was written")


class _Readable(yaml.SafeDumper):
    """Texts of several lines as they are, and items of lists further in."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _as_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """In quotes wherever our own reading of YAML, which is that of 1.2, would take it for something else."""
    style = "|" if "\n" in text else '"' if _is_no_text(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _is_no_text(text: str) -> bool:
    try:
        return meaning(text) != text
    except ValueError:
        return True


_Readable.add_representer(str, _as_text)
