"""The documentation of this very version, at `/docs`: pages, their pictures, and a search."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from folkmoot.site.drawing import article, missing, results
from folkmoot.site.html import SERVED
from folkmoot.site.library import library
from folkmoot.site.page import INDEX
from folkmoot.site.search import search

_LONGEST = 200


async def docs(request: Request) -> Response:
    books = await asyncio.to_thread(library)  # the first time, all pages are read
    query = request.query_params.get("q", "").strip()[:_LONGEST]
    if query:
        return HTMLResponse(results(books, query, search(books, query), SERVED))
    id = request.path_params.get("id", INDEX).strip("/")
    if id in books.pictures:
        return FileResponse(books.folder / id)
    if not (page := books.pages.get(id or INDEX)):
        return HTMLResponse(missing(books, SERVED), status_code=404)
    return HTMLResponse(article(books, page, SERVED))


ROUTES = (Route("/docs", docs), Route("/docs/{id:path}", docs))
