"""`folkmoot docs`: the documentation of this version, in the terminal or as a site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.call import AsJson
from folkmoot.errors import OperationFailed, WrongUse

if TYPE_CHECKING:
    from folkmoot.site.library import Library


def docs(
    topic: Annotated[
        str, typer.Argument(metavar="[TOPIC]", help="A page, `page#section`, or words to search for.")
    ] = "",
    build: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write all of it there, as a static site.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read the documentation: the contents, one page or section of it, or where some words are.

    What an error message names after `folkmoot docs` can be typed as it stands.

    \b
    Examples:
      folkmoot docs
      folkmoot docs trust
      folkmoot docs trust#verify
      folkmoot docs "budget exceeded"
      folkmoot docs --build site
    """
    from folkmoot.cli.output import say, write_json
    from folkmoot.site.library import library

    books = library()
    if build:
        say(f"{_built(books, build)} pages in {build}; open {build / 'index.html'}", "green")
    elif not topic:
        _write_contents(books, as_json)
    elif text := _text(books, topic):
        write_json({"topic": topic, "text": text}) if as_json else _write(text)
    else:
        _write_hits(books, topic, as_json)


def _built(books: Library, folder: Path) -> int:
    try:
        from folkmoot.site.build import build
    except ImportError as error:
        raise OperationFailed(
            f"`folkmoot docs --build DIR` needs a package that is not installed ({error});"
            " install it with: pip install 'folkmoot[serve]'"
        ) from error
    return build(books, Path(__file__).parent.parent / "http" / "static", folder)


def _write_contents(books: Library, as_json: bool) -> None:
    from folkmoot.cli.output import write, write_json

    if as_json:
        write_json([{"group": group.title, "pages": group.entries} for group in books.contents.groups])
        return
    widest = max(len(entry.page) for entry in books.contents.entries)
    for group in books.contents.groups:
        write(group.title, "bold")
        for entry in group.entries:
            write(f"  {entry.page.ljust(widest)}  {entry.title}")


def _text(books: Library, topic: str) -> str:
    """The Markdown of a page, or of one section with those below it; empty if there is no such page."""
    from folkmoot.site.page import excerpted

    name, _, anchor = topic.strip("/").partition("#")
    page = books.pages.get(name.removesuffix(".md")) or books.pages.get(f"reference/{name}")
    if not page:
        return ""
    if anchor not in ("", *page.anchors):
        there = ", ".join(section.anchor for section in page.sections if section.level == 2)
        raise WrongUse(f"there is no section {anchor!r} on the page {page.id!r}; it has: {there}")
    return excerpted(page, anchor)


def _write(text: str) -> None:
    """Rendered for people; for a pipe as it is."""
    import sys

    from folkmoot.cli.output import write_markdown

    write_markdown(text) if sys.stdout.isatty() else print(text)


def _write_hits(books: Library, words: str, as_json: bool) -> None:
    from folkmoot.cli.output import write_json, write_table
    from folkmoot.site.search import search

    found = [
        (f"{hit.page.id}#{hit.section.anchor}", hit.section.title, hit.excerpt)
        for hit in search(books, words)
    ]
    if not found:
        raise WrongUse(f"there is no page {words!r}, and none has all these words; `folkmoot docs` lists all")
    if as_json:
        write_json([dict(zip(("topic", "title", "excerpt"), each, strict=True)) for each in found])
    else:
        write_table(("topic", "section", "text"), found)
