"""A page as HTML: anchors beside headings, labels on code, tables that scroll, links that fit where it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from folkmoot.site.page import INDEX, Link, Page, link


@dataclass(frozen=True)
class Addresses:
    """Where things are: below `/docs` of a server, or beside each other in a folder."""

    root: str
    """What stands before the name of a page."""
    suffix: str
    index: str
    """The table of contents."""
    search: str
    """What the search form asks."""
    assets: str
    home: str = ""
    """The page of the project, where there is one."""

    def page(self, id: str, anchor: str = "") -> str:
        place = self.index if id == INDEX else f"{self.root}{id}{self.suffix}"
        return f"{place}#{anchor}" if anchor else place

    def of(self, target: Link) -> str:
        if target.elsewhere:
            return target.path
        return self.page(target.path, target.anchor) if target.is_page else self.root + target.path


SERVED = Addresses("/docs/", "", "/docs", "/docs", "/static/", home="/")


def beside(page: str) -> Addresses:
    """Relative ones, so that the folder can lie anywhere and be opened from the disk."""
    up = "../" * page.count("/")
    return Addresses(up, ".html", f"{up}index.html", f"{up}search.html", f"{up}static/")


def html(page: Page, addresses: Addresses) -> Markup:
    drawn = _drawer().renderer.render(page.tokens, _drawer().options, {"page": page.id, "at": addresses})
    return Markup(drawn)


class _Drawer(RendererHTML):
    def heading_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        opened = next(token for token in reversed(tokens[:at]) if token.type == "heading_open")
        anchor = escape(str(opened.attrGet("id")))
        link = f"<a class='anchor' href='#{anchor}' aria-label='Link to this section'>#</a>"
        return f"{link if tokens[at].tag != 'h1' else ''}</{tokens[at].tag}>\n"

    def fence(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        kind, _, name = str(token.meta.get("mark", "")).partition(": ")
        label = escape(name if kind in ("file", "append") else token.info)
        code = f"<pre tabindex='0'><code>{escape(token.content)}</code></pre>"
        return f"<figure class='docs-code'><figcaption>{label}</figcaption>{code}</figure>\n"

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return "<div class='wide' tabindex='0' role='region' aria-label='Table'><table>"

    def table_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return "</table></div>\n"

    def link_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        target = link(env["page"], str(tokens[at].attrGet("href")))
        env["closing"] = "</span>" if target.leaves else "</a>"
        if target.leaves:
            return "<span class='outside' title='in a clone of the repository'>"
        rel = " rel='noopener noreferrer'" if target.elsewhere else ""
        return f"<a href='{escape(env['at'].of(target))}'{rel}>"

    def link_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return str(env["closing"])

    def image(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        source = env["at"].of(link(env["page"], str(tokens[at].attrGet("src"))))
        return f"<img src='{escape(source)}' alt='{escape(tokens[at].content)}' loading='lazy'>"


@cache
def _drawer() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}, renderer_cls=_Drawer)
