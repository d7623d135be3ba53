"""The documentation, read from its Markdown: pages and their sections, the contents, and where words are."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

from markdown_it import MarkdownIt
from markdown_it.token import Token

from folkmoot.errors import NotFound, OperationFailed

INDEX = "README"
"""The page with the contents: which pages there are, in which order and under which names."""
COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)
_ENTRY = re.compile(r"^- \[([^\]]+)\]\(([^)#:]+)\.md\)(?:: (.+))?$", re.MULTILINE)
Entry = tuple[str, str, str]  # the id of a page, its name in the contents, and what it is about


class Section(NamedTuple):
    level: int
    title: str
    anchor: str
    line: int
    text: str
    """What stands below the heading, up to the next one."""


class DocsPage(NamedTuple):
    id: str
    title: str
    source: str
    tokens: list[Token]
    """Ready to be drawn; `meta["mark"]` is the comment before a code block, which says what becomes of it."""
    sections: list[Section]

    def markdown(self, anchor: str = "") -> str:
        """Without comments; only one section, with those below it, if an anchor is given."""
        level, first = next(((s.level, s.line) for s in self.sections if s.anchor == anchor), (0, 0))
        if anchor and not level:
            there = ", ".join(s.anchor for s in self.sections if s.level == 2) or "none"
            told = f"there is no section {anchor!r} on the page {self.id!r}; it has: {there}"
            raise NotFound(told, code="page_not_found")
        last = next((s.line for s in self.sections if s.line > first and s.level <= level), None)
        return COMMENT.sub("", "\n".join(self.source.splitlines()[first:last])).strip()


class Documentation(NamedTuple):
    folder: Path
    pages: dict[str, DocsPage]
    pictures: set[str]
    contents: list[tuple[str, list[Entry]]]

    @property
    def entries(self) -> list[Entry]:
        return [entry for _, entries in self.contents for entry in entries]


@cache
def load_documentation() -> Documentation:
    """That of this installation: inside the package, or in a clone beside the code."""
    package = Path(__file__).parents[1]
    return read_documentation(
        package / "docs" if (package / "docs").is_dir() else package.parents[1] / "docs"
    )


def read_documentation(folder: Path) -> Documentation:
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")}
    ids = sorted(name.removesuffix(".md") for name in names if name.endswith(".md"))
    if INDEX not in ids:
        raise OperationFailed(f"there is no documentation in {folder}: install folkmoot again")
    pages = {id: read_page(id, (folder / f"{id}.md").read_text(encoding="utf-8")) for id in ids}
    contents = [
        (group.partition("\n")[0], [(id, title.replace("`", ""), about) for title, id, about in entries])
        for group in re.sub(r"\n +", " ", pages[INDEX].source).split("\n## ")[1:]
        if (entries := _ENTRY.findall(group))
    ]
    return Documentation(folder, pages, {name for name in names if name.endswith(".png")}, contents)


def read_page(id: str, source: str) -> DocsPage:
    """Anchors are those that code hosts make, so that a link works there and here."""
    tokens = MarkdownIt("commonmark").enable("table").parse(source)
    for before, token in pairwise([Token("", "", 0), *tokens]):
        mark = COMMENT.match(before.content) if token.type == "fence" else None
        token.meta["mark"] = mark[1] if mark else ""
        for part in token.children or ():
            _rewrite_link(f"/docs/{id}", part)
    heads = [at for at, token in enumerate(tokens) if token.type == "heading_open"]
    sections, taken = list[Section](), Counter[str]()
    for at, end in pairwise([*heads, len(tokens)]):
        title, line = _extract_text(tokens[at + 1]), (tokens[at].map or [0])[0]
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        number = f"-{taken[anchor]}" if taken[anchor] else ""
        taken[anchor] += 1
        tokens[at].attrSet("id", anchor + number)
        text = " ".join(
            _extract_text(token) for token in tokens[at + 2 : end] if token.type in ("inline", "fence")
        )
        sections.append(Section(int(tokens[at].tag[1]), title, anchor + number, line, text))
    return DocsPage(id, sections[0].title if sections else id, source, tokens, sections)


def _extract_text(token: Token) -> str:
    return "".join(" " if part.type == "softbreak" else part.content for part in token.children or [token])


def _rewrite_link(page: str, part: Token) -> None:
    """A link or picture gets the address at which it is served; only the name is left of what a clone has."""
    for name in part.attrs.keys() & {"href", "src"}:
        there = urljoin(page, str(part.attrs[name]))
        if there.startswith("/docs/"):
            part.attrs[name] = re.sub(r"\.md(?=#|$)", "", there)
        elif there.startswith("/"):
            part.attrs = {"class": "outside", "title": "in a clone of the repository"}
        else:
            part.attrs["rel"] = "noopener noreferrer"


def search(books: Documentation, query: str) -> list[tuple[DocsPage, Section, str]]:
    """Sections that have every word, each with a piece of its text; those with words in the heading first."""
    words, found = query.lower().split(), []
    pages = [books.pages[id] for id, *_ in books.entries]
    for page, section in [(each, section) for each in pages for section in each.sections if words]:
        title, heading, text = page.title.lower(), section.title.lower(), section.text.lower()
        if all(word in title or word in heading or word in text for word in words):
            first = 2 * sum(word in title for word in words) if section.level == 1 else 0
            score = first + 4 * sum(word in heading for word in words) + min(text.count(words[0]), 3)
            flat = " ".join(section.text.split())
            start = max(min(filter(lambda at: at >= 0, map(flat.lower().find, words)), default=0) - 90, 0)
            piece = "…" * (start > 0) + flat[start : start + 180] + "…" * (start + 180 < len(flat))
            found.append((score, (page, section, piece)))
    return [hit for _, hit in sorted(found, key=lambda each: -each[0])[:40]]
