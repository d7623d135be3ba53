"""Finds sections by their words: every word must be there, headings count more than text."""

from __future__ import annotations

from typing import NamedTuple

from folkmoot.site.library import Library
from folkmoot.site.page import Page, Section

MOST = 40
_AROUND = 90


class Hit(NamedTuple):
    page: Page
    section: Section
    excerpt: str


def search(library: Library, query: str) -> list[Hit]:
    """Best first; pages in the order of the contents where nothing else decides."""
    words = query.lower().split()
    order = {entry.page: at for at, entry in enumerate(library.contents.entries)}
    found = [
        (-score, order[page.id], at, Hit(page, section, excerpt(section.text, words)))
        for page in library.pages.values()
        if page.id in order
        for at, section in enumerate(page.sections)
        if words and (score := _score(page, section, words))
    ]
    return [hit for *_, hit in sorted(found, key=lambda each: each[:3])[:MOST]]


def everything(library: Library) -> list[Hit]:
    """Every section, for a reader whose browser does the finding."""
    return [
        Hit(page, section, excerpt(section.text, []))
        for entry in library.contents.entries
        for page in [library.pages[entry.page]]
        for section in page.sections
    ]


def excerpt(text: str, words: list[str]) -> str:
    """A piece of the text around the first word that is in it."""
    flat = " ".join(text.split())
    places = [place for word in words if (place := flat.lower().find(word)) >= 0]
    start = max(min(places, default=0) - _AROUND, 0)
    piece = flat[start : start + 2 * _AROUND]
    return ("…" if start else "") + piece + ("…" if start + len(piece) < len(flat) else "")


def _score(page: Page, section: Section, words: list[str]) -> int:
    title, heading, text = page.title.lower(), section.title.lower(), section.text.lower()
    if not all(word in title or word in heading or word in text for word in words):
        return 0
    first = 2 * sum(word in title for word in words) if section.level == 1 else 0
    return 1 + first + 4 * sum(word in heading for word in words) + min(text.count(words[0]), 3)
