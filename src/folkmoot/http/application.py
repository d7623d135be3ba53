"""The server as one ASGI application: guard, API, streams, pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from folkmoot.errors import FolkmootError
from folkmoot.http import problems
from folkmoot.http.api.every import OPERATIONS
from folkmoot.http.endpoint import route
from folkmoot.http.guard import Guard
from folkmoot.http.house import House
from folkmoot.http.openapi import ROUTES as DOCUMENT
from folkmoot.http.pages.every import ROUTES as PAGES
from folkmoot.http.pages.problem import for_people
from folkmoot.http.sign_in import ROUTES as SIGN_IN
from folkmoot.http.stream.socket import SOCKET


def application(house: House, protocols: Sequence[BaseRoute] = ()) -> Starlette:
    """`protocols` are the routes of clients of other protocols; the guard checks their requests too."""
    static = StaticFiles(directory=Path(__file__).parent / "static")
    app = Starlette(
        routes=[
            *DOCUMENT,
            *map(route, OPERATIONS),
            SOCKET,
            Mount("/static", static, name="static"),
            *SIGN_IN,
            *protocols,
            *PAGES,
        ],
        exception_handlers={
            FolkmootError: for_people(problems.on_folkmoot_error),
            ClientDisconnect: problems.on_disconnect,
            HTTPException: for_people(problems.on_http_error),
            Exception: for_people(problems.on_surprise),
        },
    )
    app.state.house = house
    app.state.hub = house.hub
    # Outside of all else: what goes wrong inside is answered with the guard's headers too.
    app.middleware_stack = Guard(app.build_middleware_stack(), house)
    return app
