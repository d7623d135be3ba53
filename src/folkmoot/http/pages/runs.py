"""The list of runs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.http.house import house_of
from folkmoot.http.pages.rendering import page


async def runs(request: Request) -> Response:
    rows = await house_of(request).moot.runs()
    return page(request, "runs.html", screen="runs", title="Runs", rows=rows)


ROUTES = (Route("/", runs, name="start"), Route("/runs", runs))
