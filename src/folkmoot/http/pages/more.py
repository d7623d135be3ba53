"""Every screen and every key: where a phone has no room for more tabs, and for whoever asks for the keys."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.http.pages.rendering import page


async def more(request: Request) -> Response:
    return page(request, "more.html", screen="more", title="Everything")


ROUTES = (Route("/more", more),)
