"""What is wrong with the documentation as a whole: pages that nobody finds, links that lead nowhere, unnamed code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from folkmoot.site.library import Library
from folkmoot.site.page import INDEX, Link, Page

LANGUAGES = frozenset(
    ("console", "ini", "json", "markdown", "nginx", "python", "sh", "text", "toml", "typescript", "yaml")
)


def faults(library: Library) -> list[str]:
    return [
        *_contents(library),
        *(fault for page in library.pages.values() for fault in _page(library, page)),
    ]


def leads_nowhere(library: Library, target: Link) -> str:
    """What is missing; empty if the link is good, or not ours to follow."""
    if target.elsewhere or target.leaves:
        return ""
    if not target.is_page:
        there = (library.folder / target.path).exists()
        return "" if there else "there is no such file"
    if not (page := library.pages.get(target.path)):
        return "there is no such page"
    return "" if target.anchor in ("", *page.anchors) else "that page has no such heading"


def _contents(library: Library) -> Iterator[str]:
    listed = Counter(entry.page for entry in library.contents.entries)
    for id in sorted(library.pages.keys() - listed.keys() - {INDEX}):
        yield f"{id}.md is not in the table of contents ({INDEX}.md)"
    for id, times in listed.items():
        if times > 1:
            yield f"{id}.md is {times} times in the table of contents ({INDEX}.md)"


def _page(library: Library, page: Page) -> Iterator[str]:
    if [section.level for section in page.sections].count(1) != 1:
        yield f"{page.id}.md: a page has one heading of the first level, its title"
    for target in page.links():
        if missing := leads_nowhere(library, target):
            shown = f"{target.path}#{target.anchor}" if target.anchor else target.path
            yield f"{page.id}.md: the link to {shown!r} leads nowhere: {missing}"
    for block in page.blocks():
        if block.info not in LANGUAGES:
            place = f"{page.id}.md:{(block.map or [0])[0] + 1}"
            yield f"{place}: a code block is {block.info!r}; name one of {', '.join(sorted(LANGUAGES))}"
