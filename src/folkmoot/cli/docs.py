"""`folkmoot docs`: the documentation of this version, in the terminal."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from folkmoot.cli.call import AsJson
from folkmoot.cli.output import write, write_json, write_markdown, write_table
from folkmoot.errors import NotFound
from folkmoot.site.pages import Documentation, load_documentation, search


def docs(
    topic: Annotated[
        str, typer.Argument(metavar="[TOPIC]", help="A page, `page#section`, or words to search for.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """What an error message names after `folkmoot docs` can be typed as it stands.

    \b
    Examples:
      folkmoot docs
      folkmoot docs trust
      folkmoot docs trust#verify
      folkmoot docs "budget exceeded"
    """

    books = load_documentation()
    name, _, anchor = topic.strip("/").partition("#")
    page = books.pages.get(name.removesuffix(".md")) or books.pages.get(f"reference/{name}")
    if not page:
        _write_hits(books, topic, as_json) if topic else _write_contents(books, as_json)
        return
    text = page.markdown(anchor)
    if as_json:
        write_json({"topic": topic, "text": text})
    elif sys.stdout.isatty():
        write_markdown(text)
    else:
        print(text)


def _write_contents(books: Documentation, as_json: bool) -> None:

    if as_json:
        write_json([{"group": group, "pages": entries} for group, entries in books.contents])
        return
    widest = max(len(id) for id, *_ in books.entries)
    for group, entries in books.contents:
        write(group, "bold")
        for id, title, _ in entries:
            write(f"  {id.ljust(widest)}  {title}")


def _write_hits(books: Documentation, words: str, as_json: bool) -> None:

    found = [
        (f"{page.id}#{section.anchor}", section.title, text) for page, section, text in search(books, words)
    ]
    if not found:
        raise NotFound(
            f"there is no page {words!r}, and none has all these words; `folkmoot docs` lists all",
            code="page_not_found",
        )
    if as_json:
        write_json([dict(zip(("topic", "title", "excerpt"), each, strict=True)) for each in found])
    else:
        write_table(("topic", "section", "text"), found)
