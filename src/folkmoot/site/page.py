"""One page, read from its Markdown: its title, its sections with their anchors, and where it leads."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

INDEX = "README"
"""The table of contents is a page too."""
_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
_ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:")


class Section(NamedTuple):
    """A heading and what stands below it, up to the next one."""

    level: int
    title: str
    anchor: str
    text: str


class Link(NamedTuple):
    """A place in the documentation, a file beside it, or, with `elsewhere`, something that is not ours."""

    path: str
    """From the folder of the documentation: `reference/cli`, `screens/runs.png`, `../examples`."""
    anchor: str = ""
    elsewhere: bool = False
    is_page: bool = False

    @property
    def leaves(self) -> bool:
        """Whether it leads out of the documentation, to what only a clone of the repository has."""
        return self.path.startswith("..")


@dataclass(frozen=True)
class Page:
    id: str
    tokens: Sequence[Token]
    """With what `html.py` draws: anchors in headings, marks in code blocks, comments left out."""
    sections: tuple[Section, ...]
    source: str

    @property
    def title(self) -> str:
        return self.sections[0].title if self.sections else self.id

    @property
    def anchors(self) -> set[str]:
        return {section.anchor for section in self.sections}

    def links(self) -> Iterator[Link]:
        for token in _inline(self.tokens):
            if token.type in ("link_open", "image"):
                yield link(self.id, str(token.attrGet("href") or token.attrGet("src") or ""))

    def blocks(self) -> Iterator[Token]:
        return (token for token in self.tokens if token.type == "fence")


def read_page(id: str, source: str) -> Page:
    tokens = list(_without_comments(_reader().parse(source)))
    return Page(id, tokens, tuple(_sections(tokens)), source)


def link(page: str, address: str) -> Link:
    """Where an address leads that stands on this page."""
    if _ELSEWHERE.match(address):
        return Link(address, elsewhere=True)
    target, _, anchor = address.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else f"{page}.md"
    is_page = path.endswith(".md") and not path.startswith("..")
    return Link(path.removesuffix(".md") if is_page else path, anchor, is_page=is_page)


@cache
def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _without_comments(tokens: Sequence[Token]) -> Iterator[Token]:
    """A comment is no text; the one before a code block says what becomes of the block, and is kept with it."""
    mark, skip = "", 0
    for at, token in enumerate(tokens):
        if skip:
            skip -= 1
            continue
        if token.type == "paragraph_open" and (comment := _COMMENT.fullmatch(tokens[at + 1].content)):
            mark, skip = comment[1], 2
            continue
        if token.type == "fence":
            token.meta["mark"] = mark
        mark = ""
        yield token


def _sections(tokens: Sequence[Token]) -> Iterator[Section]:
    """Anchors are those that code hosts make, so that a link works there and here."""
    taken: dict[str, int] = {}
    open_: tuple[int, str, str] | None = None
    words: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            if open_:
                yield Section(*open_, " ".join(words))
            title, words = _plain(tokens[at + 1]), []
            anchor = _NOT_IN_ANCHORS.sub("", title.lower()).replace(" ", "-")
            number = taken[anchor] = taken.get(anchor, -1) + 1
            token.attrSet("id", f"{anchor}-{number}" if number else anchor)
            open_ = int(token.tag[1]), title, str(token.attrGet("id"))
        elif token.type == "inline" and not tokens[at - 1].type.startswith("heading"):
            words.append(_plain(token))
        elif token.type == "fence":
            words.append(token.content)
    if open_:
        yield Section(*open_, " ".join(words))


def _plain(inline: Token) -> str:
    return "".join(" " if part.type == "softbreak" else part.content for part in inline.children or ())


def _inline(tokens: Sequence[Token]) -> Iterator[Token]:
    return (part for token in tokens for part in token.children or ())


def excerpted(page: Page, anchor: str = "") -> str:
    """Its Markdown without comments; only one section of it, with those below that, if an anchor is given."""
    lines = page.source.splitlines()
    heads = [token for token in page.tokens if token.type == "heading_open" and token.map]
    start = next((token for token in heads if anchor and token.attrGet("id") == anchor), None)
    first, last = 0, len(lines)
    if start and start.map:
        first = start.map[0]
        ends = (
            token.map[0] for token in heads if token.map and token.map[0] > first and token.tag <= start.tag
        )
        last = next(ends, last)
    return _COMMENT.sub("", "\n".join(lines[first:last])).strip()
