"""All pages, read from the folder in which they lie: in a clone beside the code, else inside the package."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from folkmoot.errors import OperationFailed
from folkmoot.site.contents import Contents, read_contents
from folkmoot.site.page import INDEX, Page, read_page


@dataclass(frozen=True)
class Library:
    folder: Path
    contents: Contents
    pages: dict[str, Page]
    """By id, the table of contents among them."""
    pictures: frozenset[str]
    """Their paths in the folder."""


def read_library(folder: Path) -> Library:
    pages = {
        id: read_page(id, path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.md"))
        for id in [path.relative_to(folder).with_suffix("").as_posix()]
    }
    if INDEX not in pages:
        raise OperationFailed(f"there is no documentation in {folder}: install folkmoot again")
    pictures = frozenset(path.relative_to(folder).as_posix() for path in folder.rglob("*.png"))
    return Library(folder, read_contents(pages[INDEX].source), pages, pictures)


def docs_folder() -> Path:
    package = Path(__file__).parent.parent
    installed = package / "docs"
    return installed if installed.is_dir() else package.parent.parent / "docs"


@cache
def library() -> Library:
    """That of this installation; it does not change while a process lives."""
    return read_library(docs_folder())
