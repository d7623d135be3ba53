"""What differs between a recorded row and what comes now, line by line, and which of it is listed with its reason."""

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "differences.toml"
_ABSENT = object()
_BY_CHANCE = frozenset({"latencyMs"})
"""Left out of an answer that came within the same millisecond."""


@dataclass
class Difference:
    """One entry of `differences.toml`."""

    rows: str
    """The name of a row, or a pattern such as `runs show: *`."""
    changes: tuple[str, ...]
    """Lines as `lines_of` writes them, or patterns of such."""
    reason: str
    seen: set[str] = field(default_factory=set)

    def fits(self, row: str) -> bool:
        return fnmatchcase(row, _literal(self.rows))


def read_differences(file: Path = FILE) -> list[Difference]:
    entries = tomllib.loads(file.read_text()).get("difference", [])
    for entry in entries:
        assert entry["reason"].strip(), f"{entry['rows']}: say why it changes"
    return [Difference(entry["rows"], tuple(entry["changes"]), entry["reason"]) for entry in entries]


def group_of(row: str) -> str:
    """The rows that one test plays: those of `runs show` are of `runs`, those of all operations of `http`."""
    first = row.split()[0].rstrip(":")
    return "http" if first.isupper() else first


def lines_of(before: Any, now: Any, path: str = "") -> Iterator[str]:
    """`exit: 2 -> 4`, `out.runs.0.status: "failed" -> absent`."""
    if type(before) is type(now) and isinstance(before, dict):
        for key in [*before, *(key for key in now if key not in before)]:
            if key in _BY_CHANCE:
                continue
            yield from lines_of(before.get(key, _ABSENT), now.get(key, _ABSENT), f"{path}.{key}".lstrip("."))
    elif type(before) is type(now) and isinstance(before, list):
        for place in range(max(len(before), len(now))):
            pair = (one[place] if place < len(one) else _ABSENT for one in (before, now))
            yield from lines_of(*pair, f"{path}.{place}")
    elif before != now:
        yield f"{path}: {_short(before)} -> {_short(now)}"


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:80]}…"


def unlisted(row: str, lines: Sequence[str], listed: Sequence[Difference]) -> list[str]:
    """The lines that no entry has; those that one has are noted there as seen."""
    left = []
    for line in lines:
        fitting = [
            (entry, change)
            for entry in listed
            if entry.fits(row)
            for change in entry.changes
            if fnmatchcase(line, _literal(change))
        ]
        for entry, change in fitting:
            entry.seen.add(change)
        if not fitting:
            left.append(line)
    return left


def unseen(rows: Sequence[str], listed: Sequence[Difference]) -> list[str]:
    """Listed for one of these rows, and not so: they came as recorded."""
    return [
        f"{entry.rows}: {change} (listed, and did not occur)"
        for entry in listed
        if any(entry.fits(row) for row in rows)
        for change in entry.changes
        if change not in entry.seen
    ]


def _literal(pattern: str) -> str:
    """Only `*` and `?` are special: brackets stand in names and values."""
    return pattern.replace("[", "[[]")


def explained(found: dict[str, list[str]]) -> str:
    """What to put into `differences.toml` if it is meant."""
    return "\n".join(
        f"[[difference]]\nrows = {json.dumps(row)}\nchanges = [\n"
        + "".join(f"  {json.dumps(line, ensure_ascii=False)},\n" for line in lines)
        + ']\nreason = ""\n'
        for row, lines in found.items()
    )
