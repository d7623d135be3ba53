"""The table of contents: `docs/README.md` says which pages there are, in which order and under which names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_PART = re.compile(
    r"^(?:## (?P<group>.+)|- \[(?P<title>[^\]]+)\]\((?P<page>[^)#:]+)\.md\)(?:: (?P<about>.+))?)$"
)
_WRAPPED = re.compile(r"\n +")


class Entry(NamedTuple):
    page: str
    title: str
    about: str


class Group(NamedTuple):
    title: str
    entries: tuple[Entry, ...]


class Contents(NamedTuple):
    groups: tuple[Group, ...]

    @property
    def entries(self) -> list[Entry]:
        """In the order in which they are read."""
        return [entry for group in self.groups for entry in group.entries]

    def around(self, page: str) -> tuple[Entry | None, Entry | None]:
        """What comes before a page and after it."""
        row = [None, *self.entries, None]
        at = next((at for at, entry in enumerate(row) if entry and entry.page == page), None)
        return (None, row[1]) if at is None else (row[at - 1], row[at + 1])


def read_contents(text: str) -> Contents:
    """Each `## heading` is a group, each `- [title](page.md): about` below it a page; all else is prose."""
    return Contents(tuple(_groups(_WRAPPED.sub(" ", text))))


def _groups(text: str) -> Iterator[Group]:
    title, entries = "", list[Entry]()
    for line in [*text.splitlines(), "## "]:
        if line.startswith("## ") and entries:
            yield Group(title, tuple(entries))
            entries = []
        if part := _PART.match(line):
            title = part["group"] or title
            if part["page"]:
                entries.append(Entry(part["page"], part["title"].replace("`", ""), part["about"] or ""))
