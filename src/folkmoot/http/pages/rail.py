"""What every page says beside its screen: how much waits for a person, and how far the journal is."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from folkmoot.http.house import house_of
from folkmoot.http.pages.inbox import waiting
from folkmoot.http.pages.kept import kept_of
from folkmoot.http.pages.rendering import fragment


async def rail(request: Request) -> Response:
    house, kept = house_of(request), kept_of(request)
    position = await house.moot.position()
    seen, count = kept.waited
    if seen != position:  # nothing is counted anew before something happened
        count = await waiting(house)
        kept.waited = position, count
    return HTMLResponse(fragment("rail.html", waiting=count, position=position))


ROUTES = (Route("/rail", rail),)
