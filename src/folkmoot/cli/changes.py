"""What is different in an item since its user allowed it, in lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path

from folkmoot.domain.message import visible
from folkmoot.tools.consent import ConsentItem, ConsentStore, Grant, granted_files

MOST_FILES, MOST_LINES, MOST_CHARACTERS = 20, 20, 200
"""Of the changed files of one item, of all their changed lines, and of one such line."""


def changes(store: ConsentStore, folder: Path, item: ConsentItem, id: str, grant: Grant) -> list[str]:
    """`grant` is what was allowed under this id."""
    said = [f"was: {visible(grant.text)}"] if grant.text != item.text else []
    if grant.value is None:
        return said or ["what changed is not known: an earlier release of Folkmoot kept no contents"]
    before, now = granted_files(id, grant), item.files
    files = [
        _of_file(store, folder, file, before.get(file), now.get(file))
        for file in sorted({*before, *now})
        if before.get(file) != now.get(file)
    ]
    if not said and not files:
        return ["its variables or headers are others"]
    return [*said, *_bounded(files)]


def _of_file(
    store: ConsentStore, folder: Path, file: str, before: str | None, now: str | None
) -> tuple[str, list[str]]:
    """What happened to it, and its changed lines as far as they are known."""
    if now is None:
        return f"{visible(file)} is not used any more", []
    old = store.text(folder, before) if before else ""
    new = _text(folder / file, now)
    head = f"{visible(file)} {'changed' if before else 'is new'}"
    return head, [] if old is None or new is None else list(_changed_lines(old, new))


def _changed_lines(old: str, new: str) -> Iterator[str]:
    for line in [*unified_diff(_lines(old), _lines(new), n=0, lineterm="")][2:]:
        if line.startswith("@@"):
            continue
        whole = "\t".join(map(visible, line.split("\t")))
        more = len(whole) - MOST_CHARACTERS
        yield f"  {whole[:MOST_CHARACTERS]}" + (f"… and {more} more characters" if more > 0 else "")


def _lines(text: str) -> list[str]:
    """Broken at newlines alone: every other character that could break a line is shown."""
    return text.removesuffix("\n").split("\n") if text else []


def _text(file: Path, digest: str) -> str | None:
    try:
        content = file.read_bytes()
        return content.decode() if sha256(content).hexdigest() == digest else None
    except (OSError, UnicodeDecodeError):
        return None


def _bounded(files: list[tuple[str, list[str]]]) -> Iterable[str]:
    left = MOST_LINES
    for head, lines in files[:MOST_FILES]:
        yield head
        yield from lines[:left]
        left = max(left - len(lines), 0)
    told = min(sum(len(lines) for _, lines in files[:MOST_FILES]), MOST_LINES)
    if more := sum(len(lines) for _, lines in files) - told:
        yield f"… and {more} more changed lines"
    if len(files) > MOST_FILES:
        yield f"… and {len(files) - MOST_FILES} more files"
