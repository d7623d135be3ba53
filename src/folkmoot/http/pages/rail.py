"""What every page says beside its screen: how much waits for a person, and how far the journal is."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from folkmoot.app import Folkmoot
from folkmoot.http.house import house_of
from folkmoot.http.pages.inbox import waiting
from folkmoot.http.pages.rendering import fragment

_counted: WeakKeyDictionary[Folkmoot, tuple[int, int]] = WeakKeyDictionary()
"""Where the journal was, and how much waited then: nothing is counted anew before something happened."""


async def rail(request: Request) -> Response:
    house = house_of(request)
    position = await house.moot.position()
    seen, count = _counted.get(house.moot, (-1, 0))
    if seen != position:
        count = await waiting(house)
        _counted[house.moot] = position, count
    return HTMLResponse(fragment("rail.html", waiting=count, position=position))


ROUTES = (Route("/rail", rail),)
