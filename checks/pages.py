"""What is wrong with the pages of the documentation: one that nobody finds, links that lead nowhere, unnamed code."""

from collections import Counter
from collections.abc import Iterator

from folkmoot.site.pages import INDEX, DocsPage, Documentation

LANGUAGES = frozenset(
    ("console", "ini", "json", "markdown", "nginx", "python", "sh", "text", "toml", "typescript", "yaml")
)


def faults(books: Documentation) -> list[str]:
    return [*_contents(books), *(fault for page in books.pages.values() for fault in _page(books, page))]


def leads_nowhere(books: Documentation, topic: str) -> str:
    """What is missing; empty if there is such a page, `page#section` or file."""
    path, _, anchor = topic.partition("#")
    if page := books.pages.get(path):
        there = not anchor or any(section.anchor == anchor for section in page.sections)
        return "" if there else "that page has no such heading"
    return "" if (books.folder / path).exists() else "there is no such page or file"


def _contents(books: Documentation) -> Iterator[str]:
    listed = Counter(id for id, *_ in books.entries)
    for id in sorted(books.pages.keys() - listed.keys() - {INDEX}):
        yield f"{id}.md is not in the table of contents ({INDEX}.md)"
    for id, times in listed.items():
        if times > 1:
            yield f"{id}.md is {times} times in the table of contents ({INDEX}.md)"


def _page(books: Documentation, page: DocsPage) -> Iterator[str]:
    if [section.level for section in page.sections].count(1) != 1:
        yield f"{page.id}.md: a page has one heading of the first level, its title"
    for part in (part for token in page.tokens for part in token.children or ()):
        address = str(part.attrs.get("href") or part.attrs.get("src") or "")
        topic = address.removeprefix("/docs/")
        if topic != address and (missing := leads_nowhere(books, topic)):
            yield f"{page.id}.md: the link to {topic!r} leads nowhere: {missing}"
    for token in page.tokens:
        if token.type == "fence" and token.info not in LANGUAGES:
            place = f"{page.id}.md:{(token.map or [0])[0] + 1}"
            yield f"{place}: a code block is {token.info!r}; name one of {', '.join(sorted(LANGUAGES))}"
