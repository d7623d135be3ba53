"""Whole pages of the site: the frame with its navigation around an article, a search, or a wrong address."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from folkmoot.site.html import Addresses, html
from folkmoot.site.library import Library
from folkmoot.site.page import INDEX, Page
from folkmoot.site.search import Hit

_LONG = 24
"""With more sections of the second level than this, those of the third are left out beside the article."""


def article(library: Library, page: Page, at: Addresses) -> str:
    before, after = library.contents.around(page.id)
    deep = 2 if sum(section.level == 2 for section in page.sections) > _LONG else 3
    beside = [section for section in page.sections if 1 < section.level <= deep and page.id != INDEX]
    values = {"body": html(page, at), "beside": beside, "before": before, "after": after}
    return _drawn("article.html", library, at, title=page.title, here=page.id, **values)


def results(library: Library, query: str, hits: list[Hit], at: Addresses) -> str:
    return _drawn("search.html", library, at, title="Search", here="", query=query, hits=hits)


def missing(library: Library, at: Addresses) -> str:
    return _drawn("missing.html", library, at, title="There is no such page", here="")


def _drawn(template: str, library: Library, at: Addresses, **values: Any) -> str:
    groups = library.contents.groups
    return (
        _environment()
        .get_template(template)
        .render(**{"query": "", "at": at, "groups": groups, "INDEX": INDEX} | values)
    )


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
