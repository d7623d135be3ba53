"""The documentation of this very version, at `/docs`: pages, their pictures, and a search."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from folkmoot.http.pages.rendering import render_fragment
from folkmoot.site.pages import COMMENT, INDEX, DocsPage, load_documentation, search


class _DocsRenderer(RendererHTML):
    """Anchors beside headings, labels on code, tables that scroll; markup is text, and a comment is none."""

    def heading_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        anchor, tag = escape(str(tokens[at - 2].attrGet("id"))), tokens[at].tag
        link = f"<a class='anchor' href='#{anchor}' aria-label='Link to this section'>#</a>"
        return f"{link if tag != 'h1' else ''}</{tag}>\n"

    def fence(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        kind, _, name = tokens[at].meta["mark"].partition(": ")
        label = escape(name if kind in ("file", "append") else tokens[at].info)
        code = f"<pre tabindex='0'><code>{escape(tokens[at].content)}</code></pre>"
        return f"<figure class='docs-code'><figcaption>{label}</figcaption>{code}</figure>\n"

    def html_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return str(escape(COMMENT.sub("", tokens[idx].content)))

    html_inline = html_block

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return "<div class='wide' tabindex='0' role='region' aria-label='Table'><table>"

    def table_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return "</table></div>\n"


def render_html(page: DocsPage) -> Markup:
    return Markup(_DocsRenderer().render(page.tokens, MarkdownIt().options, {}))


async def docs(request: Request) -> Response:
    books = await asyncio.to_thread(load_documentation)  # the first time, all pages are read
    query = request.query_params.get("q", "").strip()[:200]
    id = request.path_params.get("id", "").strip("/") or INDEX
    if id in books.pictures:
        return FileResponse(books.folder / id)
    page = None if query else books.pages.get(id)
    row = [None, *books.entries, None]
    at = next((at for at, entry in enumerate(row) if entry and entry[0] == id), 0)
    values = {"here": id, "page": page, "body": render_html(page) if page else "", "contents": books.contents}
    values |= {"before": row[at - 1], "after": row[at + 1], "query": query, "hits": search(books, query)}
    return HTMLResponse(render_fragment("docs.html", **values), status_code=200 if page or query else 404)


ROUTES = (Route("/docs", docs), Route("/docs/{id:path}", docs))
