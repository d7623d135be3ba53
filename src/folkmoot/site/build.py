"""Writes the site into a folder that any web server can offer, or a browser open from the disk."""

from __future__ import annotations

import shutil
from pathlib import Path

from folkmoot.errors import OperationFailed
from folkmoot.site.drawing import article, missing, results
from folkmoot.site.faults import faults
from folkmoot.site.html import beside
from folkmoot.site.library import Library
from folkmoot.site.page import INDEX
from folkmoot.site.search import everything

ASSETS = ("folkmoot.css", "docs.css", "docs.js", "page.js", "mark.svg")


def build(library: Library, assets: Path, folder: Path) -> int:
    """How many pages were written; none if anything is wrong with them."""
    if found := faults(library):
        raise OperationFailed("\n".join(found))
    written = {
        beside(page.id).page(page.id).lstrip("./"): article(library, page, beside(page.id))
        for page in library.pages.values()
    }
    written["search.html"] = results(library, "", everything(library), beside(INDEX))
    written["404.html"] = missing(library, beside(INDEX))
    for name, text in written.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    copies = [(assets / name, f"static/{name}") for name in ASSETS]
    for source, name in [*copies, *((library.folder / name, name) for name in library.pictures)]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / name)
    return len(written)
